// A part of nbaccel's cockpit, joined from nbaccel/notebook/runs/ by tools/join_cockpit.py. Change it there.
export default function (parts) {
const { PALETTE, age, amount, button, cell, count, demandWords, deviceWords, duration, empty, h, inSight, nameOf, plain, rowsOf, table } = parts;
const LOG_FROM=100;
function ticks(low,high,count=4){if(!(high>low))return[low];
const rough=(high-low)/count;
const power=10**Math.floor(Math.log10(rough));
const step=power*([1,2,5,10].find((each)=>power*each>=rough*0.999)??10);
const places=[];
for(let place=Math.ceil(low/step-1e-9);place<=Math.floor(high/step+1e-9);place++)places.push(Number((place*step).toPrecision(12)));
return places}
function logTicks(low,high){const[first,last]=[Math.ceil(Math.log10(low)-1e-9),Math.floor(Math.log10(high)+1e-9)];
const step=Math.max(1,Math.ceil((last-first)/4));
const powers=[];
for(let power=first;power<=last;power+=step)powers.push(10**power);
return powers}
function isLogarithmic(low,high){return low>0&&high/low>LOG_FROM}
function reading(value){const size=Math.abs(value);
if(size>=1e4&&size<1e9)return value.toFixed(0);
const[digits,power]=value.toExponential(3).split("e");
const exponent=Number(power);
if(!value||(exponent>=-4&&exponent<4))return String(Number(value.toPrecision(4)));
return`${Number(digits)}e${exponent<0?"-":"+"}${String(Math.abs(exponent)).padStart(2,"0")}`}
const LETTERS="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const WITHOUT_VALUE={running:0,pending:1,done:2,stopped:3,error:4};
const known=new WeakMap();
function trialsOf(experiment,given){const before=known.get(given);
if(before)return before;
const trials=[...given.rows].map(([id,row])=>trialOf(id,row));
const made={trials:bestFirst(trials,experiment.mode??""),names:varying(trials),failures:failuresOf(trials)};
known.set(given,made);
return made}
function trialOf(id,row){return{id,short:plain(id.split("_").at(-1)??id),row,state:row.state??"pending",params:flat(row.config??{}),value:typeof row.value==="number"?row.value:null,points:pointsOf(row)}}
function bestFirst(trials,mode){const sign=mode==="max"?-1:1;
const place=(trial)=>(trial.value!=null&&mode?-1:(WITHOUT_VALUE[trial.state]??5));
return[...trials].sort((a,b)=>{if(!mode)return a.row.number-b.row.number;
const first=place(a)-place(b);
if(first||a.value==null||b.value==null)return first||a.row.number-b.row.number;
return sign*(a.value-b.value)||a.row.number-b.row.number})}
function flat(config,prefix=""){const found={};
for(const[name,value]of Object.entries(config)){const nested=value&&typeof value==="object"&&!Array.isArray(value)&&Object.keys(value).length;
if(nested)Object.assign(found,flat(value,`${prefix}${name}/`));
else found[prefix+name]=value}
return found}
function varying(trials){const values=new Map();
for(const{params}of trials)for(const name of Object.keys(params))values.set(name,new Set());
for(const{params}of trials)for(const[name,seen]of values)if(seen.size<2)seen.add(JSON.stringify(params[name])??"");
return[...values].filter(([,seen])=>trials.length<2||seen.size>1).map(([name])=>name)}
function failuresOf(trials){const groups=new Map();
for(const trial of trials){const error=plain(trial.row.error);
if(!error)continue;
const group=groups.get(error)??{error,trials:[]};
group.trials.push(trial);
groups.set(error,group)}
return[...groups.values()].sort((a,b)=>b.trials.length-a.trials.length)}
function pointsOf({curve}){if(!curve)return[];
const[low,high]=curve.log?[Math.log10(curve.low),Math.log10(curve.high)]:[curve.low,curve.high];
const places=Math.max(1,curve.letters.length-1);
const points=[];
[...curve.letters].forEach((letter,place)=>{const part=LETTERS.indexOf(letter);
const height=low+((high-low)*part)/63;
const value=curve.log?10**height:height;
if(part>=0)points.push([Math.round(curve.first+((curve.last-curve.first)*place)/places),value])});
return points}
function paramWords(value){if(value===undefined)return"";
if(typeof value==="number"&&!Number.isInteger(value))return reading(value);
return plain(typeof value==="string"?value:pythonOf(value))}
function pythonOf(value){if(value===null||value===undefined)return"None";
if(value===true||value===false)return value?"True":"False";
if(Array.isArray(value))return`[${value.map(pythonOf).join(", ")}]`;
if(typeof value==="object")return`{${Object.entries(value).map(([name,each])=>`${JSON.stringify(name)}: ${pythonOf(each)}`).join(", ")}}`;
return typeof value==="string"?JSON.stringify(value):String(value)}
const WIDE=560;
const TALL=200;
const SMALL={width:220,height:150};
const MARGIN=52;
const BELOW=22;
const CEILING=10;
const IN_FRONT=8;
const MOST_LINES=300;
const MOST_AXES=6;
const MOST_WORDS=10;
function rounded(number){return Math.round(number*10)/10}
function scaleOf(values,bottom,top){let[low,high]=[Infinity,-Infinity];
for(const value of values)[low,high]=[Math.min(low,value),Math.max(high,value)];
const log=isLogarithmic(low,high);
const height=log?Math.log10:(value)=>value;
const[first,last]=[height(low),height(high)];
const at=(value)=>rounded(bottom+(last>first?(height(value)-first)/(last-first):0.5)*(top-bottom));
return{at,levels:(log?logTicks(low,high):ticks(low,high)).map((value)=>({y:at(value),label:reading(value)}))}}
function layers(lines){return{best:lines[0]??"",front:lines.slice(1,1+IN_FRONT),others:lines.slice(1+IN_FRONT).join("")}}
function overlaidShape(trials,metric){const drawn=trials.filter(({points})=>points.length>1).slice(0,MOST_LINES);
if(!drawn.length)return null;
const every=drawn.flatMap(({points})=>points);
const across=scaleOf([0,1],MARGIN,WIDE-10);
const last=every.reduce((most,[x])=>Math.max(most,x),1);
const x=(report)=>across.at(report/last);
const{at,levels}=scaleOf(every.map(([,value])=>value),TALL-BELOW,CEILING);
const lines=drawn.map(({points})=>points.map(([report,value],index)=>`${index?"L":"M"}${x(report)} ${at(value)}`).join(""));
const left=trials.length-drawn.length;
return{...layers(lines),levels,reports:ticks(0,last).filter(Number.isInteger).map((report)=>({x:x(report),label:String(report)})),words:`${plain(metric)} over ${count(last+1,"report")} of ${count(drawn.length,"trial")}, the best in front: ${drawn[0].short}, ${lastWords(drawn[0])}`,left}}
function lastWords({value,points}){return`now ${reading(value??points[points.length-1][1])}`}
function axisOf(name,values,bottom,top){const there=values.filter((value)=>value!==undefined&&value!==null);
if(there.length&&there.every((value)=>typeof value==="number"&&Number.isFinite(value))){const{at,levels}=scaleOf(there,bottom,top);
return{name:plain(name),at:(value)=>(typeof value==="number"?at(value):null),levels}}
const distinct=[...new Set(values.map(paramWords))].sort();
if(distinct.length>MOST_WORDS)return null;
const{at}=scaleOf([0,Math.max(1,distinct.length-1)],bottom,top);
const levels=distinct.map((label,place)=>({y:at(place),label:label.length>10?`${label.slice(0,9)}…`:label}));
return{name:plain(name),at:(value)=>at(distinct.indexOf(paramWords(value))),levels}}
function parallelShape(trials,names,metric){const drawn=trials.filter(({value})=>value!=null).slice(0,MOST_LINES);
const[bottom,top]=[TALL-8,26];
const given=names.slice(0,MOST_AXES).map((name)=>({name,axis:axisOf(name,drawn.map(({params})=>params[name]),bottom,top)}));
const usable=given.filter(({axis})=>axis);
if(drawn.length<2||!usable.length)return null;
const heights=[...usable.map(({name,axis})=>(trial)=>axis?.at(trial.params[name])??null)];
const last=(axisOf(metric,drawn.map(({value})=>value),bottom,top));
heights.push((trial)=>last.at(trial.value));
const axes=[...usable.map(({axis})=>(axis)),last];
const x=(place)=>rounded(MARGIN+(place*(WIDE-MARGIN-24))/(axes.length-1));
const lines=drawn.map((trial)=>{const points=heights.map((height,place)=>({x:x(place),y:height(trial)})).filter(({y})=>y!=null);
return points.map((point,index)=>`${index?"L":"M"}${point.x} ${point.y}`).join("")});
return{...layers(lines),axes:axes.map(({name,levels},place)=>({name,x:x(place),levels})),bottom,top,words:`Parallel coordinates of ${count(drawn.length,"trial")}: ${axes.map(({name})=>name).join(", ")}; the best in front: ${wordsOfBest(drawn[0],names,metric)}`}}
function wordsOfBest({params,value},names,metric){const said=names.slice(0,MOST_AXES).map((name)=>`${plain(name)} ${paramWords(params[name])}`);
return[...said,`${plain(metric)} ${reading(value??0)}`].join(", ")}
function scatterShape(trials,name,metric){const drawn=trials.filter(({value,params})=>value!=null&&params[name]!==undefined);
const{width,height}=SMALL;
const across=drawn.length>1?axisOf(name,drawn.map(({params})=>params[name]),MARGIN,width-14):null;
if(!across)return null;
const{at,levels}=scaleOf(drawn.map(({value})=>value??0),height-BELOW,CEILING+8);
const[best,...others]=drawn.map(({params,value})=>({x:across.at(params[name])??MARGIN,y:at(value??0)}));
return{name:plain(name),best,others:others.map((dot)=>`M${dot.x} ${dot.y}h0`).join(""),levels,below:across.levels.map(({y,label})=>({x:y,label})),words:`${plain(metric)} against ${plain(name)} of ${count(drawn.length,"trial")}, the best at ${paramWords(drawn[0].params[name])}`}}
function scatterShapes(trials,names,metric){return names.slice(0,MOST_AXES).map((name)=>scatterShape(trials,name,metric)).filter((shape)=>shape!==null)}
function sparkPath({points}){if(points.length<2)return"";
const down=scaleOf(points.map(([,value])=>value),15,1);
const across=scaleOf([points[0][0],points[points.length-1][0]],0,64);
const linear=(x)=>rounded(((x-points[0][0])/(points[points.length-1][0]-points[0][0]||1))*64);
return across&&points.map(([x,value],index)=>`${index?"L":"M"}${linear(x)} ${down.at(value)}`).join("")}
function drawLayers({best,front,others},colour){return[others&&h("path",{key:"others",class:"other",d:others}),...front.map((d,place)=>h("path",{key:`front ${place}`,class:`front c${colour}`,d})).reverse(),h("path",{key:"best",class:`curve-line c${colour}`,d:best})]}
function drawOverlaid(shape,metric,colour){return h("figure",{key:"overlaid",class:"curve wide"},h("figcaption",{class:"line"},h("span",{class:"name cut"},metric),h("span",{class:"quiet"},"over reports, the best in front")),h("svg",{viewBox:`0 0 ${WIDE} ${TALL}`,role:"img","aria-label":shape.words},shape.levels.map(({y,label})=>h("g",{key:label},h("path",{d:`M52 ${y}H${WIDE}`,class:"level"}),h("text",{x:47,y:y+4,"text-anchor":"end"},label))),shape.reports.map(({x,label})=>h("text",{key:`at ${label}`,x,y:TALL-5,"text-anchor":"middle"},label)),drawLayers(shape,colour)))}
function drawParallel(shape,colour){return h("figure",{key:"parallel",class:"curve wide"},h("figcaption",{class:"line"},h("span",{class:"name"},"Parameters"),h("span",{class:"quiet"},"and what came of them, the best in front")),h("svg",{viewBox:`0 0 ${WIDE} ${TALL}`,role:"img","aria-label":shape.words},drawLayers(shape,colour),shape.axes.map(({name,x,levels},place)=>h("g",{key:name},h("path",{class:"axis-line",d:`M${x} ${shape.top}V${shape.bottom}`}),h("text",{class:"axis-name",x:place?x:x-40,y:14,"text-anchor":place===0?"start":place===shape.axes.length-1?"end":"middle",...(place===shape.axes.length-1?{x:WIDE}:{})},name),levels.map(({y,label})=>h("text",{key:label,x:x-5,y:y+4,"text-anchor":"end"},label))))))}
function drawScatter(shape,colour){const{width,height}=SMALL;
return h("figure",{key:`against ${shape.name}`,class:"curve"},h("figcaption",{class:"line"},h("span",{class:"name cut",title:shape.name},shape.name)),h("svg",{viewBox:`0 0 ${width} ${height}`,role:"img","aria-label":shape.words},shape.levels.map(({y,label})=>h("g",{key:label},h("path",{d:`M52 ${y}H${width}`,class:"level"}),h("text",{x:47,y:y+4,"text-anchor":"end"},label))),shape.below.map(({x,label})=>h("text",{key:`at ${label}`,x,y:height-5,"text-anchor":"middle"},label)),h("path",{class:`dots c${colour}`,d:shape.others}),h("circle",{class:`curve-end c${colour}`,cx:shape.best.x,cy:shape.best.y,r:3.5}),h("text",{class:"star",x:shape.best.x,y:shape.best.y-6,"text-anchor":"middle"},"★")))}
const STOPS=["Stop","Interrupt","Kill"];
const STEPS=["after its next report","now, with KeyboardInterrupt","at once, by ending its processes"];
function stopButton(run,state){if(!run.stop)return null;
const{label,about,order}=run.stop;
const data={"data-id":order,"data-name":run.name};
if(state.asked.has(order))return button("asked…",{...data,class:"aside","aria-label":`${label} ${run.name}`,disabled:true});
const title=`${label} ${run.name} ${about}`;
if(!run.owner)return button(label,{...data,class:"aside","data-act":"cancel-run","aria-label":`${label} ${run.name}`,title});
if(state.doubted!==order){return button(`${label}…`,{...data,class:"aside","data-act":"doubt","data-owner":run.owner,"aria-label":`${label} ${run.name} of ${run.owner}`,title})}
return h("span",{class:"ask nowrap aside"},button("Keep",{...data,"data-act":"keep","aria-label":`Keep ${run.name} of ${run.owner}`})," ",button(`${label} it`,{...data,"data-act":"cancel-run",class:"urgent","aria-label":`${label} ${run.name} of ${run.owner} all the same`}))}
const TRIAL_SIGNS={pending:"◌",running:"●",done:"✓",stopped:"⊘",error:"✕"};
const MOST_COLUMNS=5;
const MOST_NAMED=3;
const orders=new Map();
function drawTrials(about,rows){if(!rows?.rows.size)return[about.view.underWay&&empty("Asking for the trials …")];
const found=trialsOf(about.experiment,rows);
const metric=about.experiment.shown||about.experiment.metric||"";
const overlaid=metric?overlaidShape(found.trials,metric):null;
return[...drawFailures(found),tableOf(found,metric,about),overlaid&&drawOverlaid(overlaid,plain(metric),about.view.colour),...(about.view.underWay?[]:drawEnd(found,metric,about.view.colour))]}
function drawEnd({trials,names},metric,colour){const parallel=parallelShape(trials,names,metric);
const scatters=scatterShapes(trials,names,metric);
return[parallel&&drawParallel(parallel,colour),scatters.length>0&&h("div",{key:"scatters",class:"curves",role:"group","aria-label":`${plain(metric)} against each parameter`},scatters.map((shape)=>drawScatter(shape,colour)))]}
function drawFailures({failures}){if(!failures.length)return[];
const line=({error,trials})=>{const which=trials.slice(0,MOST_NAMED).map(({short})=>short).join(", ")+(trials.length>MOST_NAMED?", …":"");
return h("li",{key:error},h("span",{class:"state failed"},h("span",{class:"sign","aria-hidden":"true"},"✕"),` ${count(trials.length,"trial")} failed: `),error," ",h("span",{class:"quiet"},which))};
return[h("ul",{key:"failures",class:"lines","aria-label":"Failures"},failures.map(line))]}
function tableOf(found,metric,about){const{id,name}=about.view;
const names=found.names.slice(0,MOST_COLUMNS);
const trials=inOrder(found.trials,about);
const filled={device:trials.some(({row})=>deviceWords(row.devices)),why:trials.some(({row})=>row.waits)};
const columns=["Trial","State",...names.map(plain),...(metric?[plain(metric),"Curve"]:[]),...(filled.device?["Device"]:[]),"Took",...(filled.why?["Why"]:[]),""];
const sight=about.state.sights.get(id)??{top:0,height:460,row:33};
const{first,last}=inSight(trials.length,sight);
const rows=trials.slice(first,last).map((trial)=>drawRow(trial,names,metric,filled,about));
const gap=(where,rowsLeft)=>rowsLeft>0&&h("tr",{key:where,class:"gap","aria-hidden":"true",style:`height:${Math.round(rowsLeft*sight.row)}px`});
const shown=([gap("above",first),...rows,gap("below",trials.length-last)].filter(Boolean));
return table(`Trials of ${name}`,columns,shown,{rows:trials.length,sight:id})}
function inOrder(trials,{view,state}){const before=state.heldSight===view.id?orders.get(view.id):null;
if(!before){orders.set(view.id,trials);
return trials}
const now=new Map(trials.map((trial)=>[trial.id,trial]));
const stayed=before.map(({id})=>now.get(id)).filter((trial)=>trial!==undefined);
const known=new Set(before.map(({id})=>id));
return[...stayed,...trials.filter(({id})=>!known.has(id))]}
function drawRow(trial,names,metric,filled,about){const{row,state}=trial;
const own=state==="running"?` ink c${about.view.colour}`:"";
const said=trial.value!=null?reading(trial.value):plain(row.value==null?"":String(row.value));
const line=sparkPath(trial);
const device=deviceWords(row.devices);
return h("tr",{key:trial.id,"data-trial":trial.id},h("th",{scope:"row",title:plain(trial.id)},h("span",{class:"name"},trial.short)),h("td",{class:`nowrap state ${state==="error"?"failed":state==="pending"?"waiting":state}`},h("span",{class:`sign${own}`,"aria-hidden":"true"},TRIAL_SIGNS[state]??"◌"),` ${row.waits&&about.view.underWay?"waiting":state}`),names.map((name)=>h("td",{key:name,class:"nowrap"},h("span",{class:"cut",title:paramWords(trial.params[name])},paramWords(trial.params[name])))),metric&&cell(said,"nowrap"),metric&&h("td",{class:"trend"},line&&h("svg",{class:"spark",viewBox:"0 0 64 16",preserveAspectRatio:"none",role:"img","aria-label":`${count(row.reports??0,"report")}`},h("path",{d:line}))),filled.device&&cell(device,"nowrap"),cell(tookWords(trial,about),"nowrap"),filled.why&&cell(whyOf(trial,about),"why"),cell([stopButton(stoppable(trial,about),about.state),copyButton(trial)],"acts"))}
function tookWords({row,state},{view,now}){if(!row.started_at)return"";
if(row.ended_at)return duration(row.ended_at-row.started_at);
return state==="running"&&view.underWay?age(now-row.started_at):""}
function whyOf({id,row},{view,whys}){if(!row.waits||!view.underWay)return"";
return whys.get(`${view.name} ${plain(id)}`)??"its process is being started"}
function stoppable({id,short,row,state},{view}){const step=Math.min(row.stops??0,STOPS.length-1);
const ends=view.underWay&&(state==="running"||state==="pending");
const about=state==="pending"?"before it begins":STEPS[step];
return{name:`trial ${short}`,owner:view.owner,stop:ends?{label:STOPS[step],about,order:`${view.id}/${row.stops??0}/${id}`}:null}}
function copyButton({short,row}){const text=pythonOf(row.config??{});
return button("Config",{"data-act":"copy","data-text":text,"data-name":`the config of trial ${short}`,"aria-label":`Copy the config of trial ${short}`,title:`Copy ${plain(text)}`})}
const EXPERIMENT_SIGNS={running:"●",stopping:"●",finished:"✓",stopped:"⊘",failed:"✕"};
const MOST_PARAMETERS=4;
function goesOn(experiment){return["running","stopping"].includes(experiment.state??"running")}
function experimentView(experiment,now,ended){const underWay=goesOn(experiment)&&!ended;
const state=goesOn(experiment)&&ended?"ended with it":(experiment.state??"running");
const step=Math.min(experiment.stops??0,STOPS.length-1);
return{id:experiment.id,name:plain(experiment.name),owner:plain(experiment.owner),state,sign:state==="ended with it"?"–":(EXPERIMENT_SIGNS[state]??"◌"),colour:experiment.hue*PALETTE.hues[0].length,underWay,time:experiment.started_at?age((experiment.ended_at??now)-experiment.started_at):"",progress:trialWords(experiment),metrics:bestWords(experiment),best:bestWords(experiment,Infinity),why:plain(experiment.why),path:plain(experiment.path),goOn:underWay||state==="finished"?"":`tune.Tuner.restore(${JSON.stringify(experiment.path)}, trainable)`,stop:underWay?{label:STOPS[step],about:STEPS[step],order:`${experiment.id}/${experiment.stops??0}`}:null}}
function trialWords({counts={},total}){const ended=["done","stopped","error"].reduce((sum,state)=>sum+(counts[state]??0),0);
const said=total==null?`${count(ended,"trial")} ended`:`${ended} of ${count(total,"trial")} ended`;
return[said,counts.running?`${counts.running} running`:"",counts.error?`${counts.error} failed`:""].filter(Boolean).join(" · ")}
function bestWords({best,metric},most=MOST_PARAMETERS){if(!best)return"";
const params=Object.entries(best.config).map(([name,value])=>`${plain(name)} ${plain(value)}`);
const said=params.slice(0,most).join(", ")+(params.length>most?", …":"");
return`${plain(metric)} ${reading(best.value)}${said&&` with ${said}`}`}
function head(run,state,name,brief){const facts=[run.owner,run.time,run.progress,brief&&run.metrics].filter(Boolean).join(" · ");
return h("div",{class:"line head",key:"head"},name,stateOf(run),h("span",{class:"facts quiet"},facts),stopButton(run,state))}
function stateOf({state,sign,colour}){const own=state==="running"?` ink c${colour}`:"";
return h("span",{class:`nowrap state ${state}`},h("span",{class:`sign${own}`,"aria-hidden":"true"},sign),` ${state}`)}
function openExperiments({experiments=[]},state){const underWay=experiments.filter(goesOn).slice(0,1);
const first=new Set((underWay.length?underWay:experiments.slice(0,1)).map(({id})=>id));
return experiments.map(({id})=>id).filter((id)=>first.has(id)!==state.open.has(id))}
function drawExperiments(given,now,ended,state,snapshot){const experiments=given.experiments??[];
if(!experiments.length)return[];
const open=new Set(openExperiments(given,state));
const whys=waitsOf(snapshot);
const rows=experiments.map((experiment)=>{const view=experimentView(experiment,now,ended);
const isOpen=open.has(view.id);
const name=h("button",{type:"button",class:"opens","data-act":"group","data-function":view.id,"aria-expanded":String(isOpen)},h("span",{"aria-hidden":"true"},isOpen?"▾ ":"▸ "),nameOf(view.name));
return h("li",{key:view.id},head(view,state,name,!isOpen),isOpen&&h("div",{class:"run"},trialDetails({view,experiment,state,now,whys})))});
return[h("ul",{class:"runs",key:"experiments","aria-label":"Experiments"},rows)]}
function drawExperiment(experiment,now,ended,state,snapshot){const view=experimentView(experiment,now,ended);
return[head(view,state,nameOf(view.name),false),h("div",{class:"run",key:"run"},trialDetails({view,experiment,state,now,whys:waitsOf(snapshot)}))]}
function trialDetails(about){const{view,state}=about;
const failed=view.state==="failed";
return[view.why&&h("p",{key:"why",class:failed?"attention":""},failed&&h("strong",{},h("span",{"aria-hidden":"true"},"⚠ "),"Attention: "),view.why),view.best&&h("p",{key:"best"},`best: ${view.best} (trial ${plain(about.experiment.best?.id)})`),...drawTrials(about,state.past[`rows/${view.id}`]?.data??null),h("p",{key:"path",class:"quiet path"},view.path),view.goOn&&empty("Go on:",view.goOn)]}
function waitsOf(snapshot){const rows=(snapshot?.tasks??[]).filter((row)=>row.state.startsWith("PENDING"));
return new Map(rows.map((row)=>[plain(row.name),plain(row.reason==null?row.why:snapshot?.reasons?.[row.reason])]))}
const WIDTH=280;
const HEIGHT=136;
const LEFT=46;
const FLOOR=HEIGHT-20;
const TOP=16;
const RIGHT=10;
function curveShape(curve,checkpoints){const points=curve.points;
const[xs,ys]=[points.map(([x])=>x),points.map(([,y])=>y)];
const[first,last]=[xs[0],xs[xs.length-1]];
const[low,high]=[Math.min(...ys),Math.max(...ys)];
const isLog=isLogarithmic(low,high);
const height=isLog?Math.log10:(value)=>value;
const[bottom,top]=[height(low),height(high)];
const x=(report)=>round(LEFT+((report-first)/(last-first||1))*(WIDTH-LEFT-RIGHT));
const y=(value)=>round(TOP+(1-(top>bottom?(height(value)-bottom)/(top-bottom):0.5))*(FLOOR-TOP-6));
const marks=checkpoints.filter(({report})=>report>=first&&report<=last);
const best=marks.find((mark)=>mark.best);
const name=plain(curve.name);
return{name,last:reading(ys[ys.length-1]),line:points.map(([report,value],index)=>`${index?"L":"M"}${x(report)} ${y(value)}`).join(""),end:{x:x(last),y:y(ys[ys.length-1])},levels:(isLog?logTicks(low,high):ticks(low,high)).map((value)=>({y:y(value),label:reading(value)})),reports:ticks(first,last).filter(Number.isInteger).map((value)=>({x:x(value),label:String(value)})),marks:marks.map(({report})=>x(report)),best:best?x(best.report):null,words:[`${name} over ${count(last-first+1,"report")}: from ${reading(ys[0])} to ${reading(ys[ys.length-1])}`,`between ${reading(low)} and ${reading(high)}`,marks.length?count(marks.length,"checkpoint"):"",best?`the best one at report ${best.report}`:""].filter(Boolean).join(", ")}}
function round(number){return Math.round(number*10)/10}
function drawCurves(curves,colour){if(!curves.length)return null;
return h("div",{class:"curves",key:"curves"},curves.map((curve)=>drawCurve(curve,colour)))}
function drawCurve(curve,colour){return h("figure",{key:curve.name,class:"curve"},h("figcaption",{class:"line"},h("span",{class:"name cut",title:curve.name},curve.name),h("span",{class:"last"},curve.last)),h("svg",{viewBox:`0 0 ${WIDTH} ${HEIGHT}`,role:"img","aria-label":curve.words},curve.levels.map(({y,label})=>h("g",{key:label},h("path",{d:`M${LEFT} ${y}H${WIDTH}`,class:"level"}),h("text",{x:LEFT-5,y:y+4,"text-anchor":"end"},label))),curve.reports.map(({x,label})=>h("text",{key:`at ${label}`,x,y:HEIGHT-5,"text-anchor":"middle"},label)),curve.marks.length>0&&h("path",{class:"marks",d:curve.marks.map((x)=>`M${x} ${FLOOR}v-6`).join("")}),curve.best!=null&&h("path",{class:"best",d:`M${curve.best} ${FLOOR}V14`}),curve.best!=null&&h("text",{class:"star",x:curve.best,y:11,"text-anchor":"middle"},"★"),h("path",{class:`curve-line c${colour}`,d:curve.line}),h("circle",{class:`curve-end c${colour}`,cx:curve.end.x,cy:curve.end.y,r:2.5})))}
const UNDER_WAY=["waiting","running","stopping","restarting"];
const SIGNS={waiting:"◌",restarting:"◌",running:"●",stopping:"●",finished:"✓",returned:"✓",stopped:"⊘",failed:"✕"};
const METRICS=4;
function isUnderWay(run){return UNDER_WAY.includes(run.state??"waiting")}
function runView(run,now,ended){const underWay=isUnderWay(run);
const state=underWay&&ended?"ended with it":(run.state??"waiting");
const ranks=run.ranks??[];
const curves=run.curves??[];
const checkpoints=run.checkpoints??[];
const best=checkpoints.find((each)=>each.best)?.name??"";
const step=Math.min(run.stops??0,STOPS.length-1);
return{id:run.id,name:plain(run.name),owner:plain(run.owner),state,sign:state==="ended with it"?"–":signOf(state),colour:run.hue*PALETTE.hues[0].length,underWay:underWay&&!ended,time:timeWords(run,now),progress:progressWords(run),gang:ranks.length?gangWords(run):"",metrics:metricWords(run),ranks:ranks.map((rank)=>rankView(rank,run)),rankCounts:rankCounts(ranks),curves:curves.filter((curve)=>curve.points.length>1).map((curve)=>curveShape(curve,checkpoints)),checkpoints:best&&`${count(checkpoints.length,"checkpoint")}, best ${plain(best)}`,load:run.load??"",path:plain(run.path),why:plain(run.why),resume:underWay&&!ended?"":resumeWords(run,state),stop:underWay&&!ended?{label:STOPS[step],about:STEPS[step],order:`${run.id}/${run.stops??0}`}:null}}
function signOf(state){return SIGNS[state]??"◌"}
function rankView(rank,run){const state=rank.state??"waiting";
const report=rank.report==null?"":`report ${rank.report}`;
const facts=[state,report,deviceWords(rank.devices),rank.pid?`pid ${rank.pid}`:"",plain(rank.node)];
return{rank:rank.rank,state,sign:signOf(state),colour:run.hue*PALETTE.hues[0].length+(rank.rank%PALETTE.hues[0].length),report,title:`rank ${rank.rank}: ${facts.filter(Boolean).join(", ")}`}}
function gangWords(run){const held={};
for(const rank of run.ranks??[]){for(const[resource,ids]of Object.entries(rank.devices??{}))held[resource]=[...new Set([...(held[resource]??[]),...ids])]}
const workers=count((run.ranks??[]).length,"worker");
const devices=deviceWords(held);
return[devices?`${workers} on ${devices}`:`${workers} with ${demandWords(run.each)} each`,run.backend].filter(Boolean).join(" · ")}
function progressWords(run){const known=run.epochs!=null&&run.epochs_done!=null;
const epoch=known?`${amount(run.epochs_done??0)} of ${count(run.epochs??0,"epoch")}`:run.epoch==null?"":`epoch ${amount(run.epoch)}`;
const left=run.left_s!=null&&isUnderWay(run)?`about ${age(run.left_s)} left`:"";
return[epoch,left,run.reports?count(run.reports,"report"):"no report yet"].filter(Boolean).join(" · ")}
function timeWords(run,now){return run.started_at?age((run.ended_at??now)-run.started_at):""}
function metricWords(run){return(run.curves??[]).slice(0,METRICS).map(({name,points})=>`${plain(name)} ${reading(points[points.length-1][1])}`).join(", ")}
function rankCounts(ranks){const counts=new Map();
for(const{state="waiting"}of ranks)counts.set(state,(counts.get(state)??0)+1);
return[...counts].map(([state,number])=>`${number} ${state}`).join(", ")}
function resumeWords(run,state){if(state==="finished")return"";
const latest=(run.checkpoints??[]).at(-1)?.name;
return`Resume: run the cell again; a run of the same name goes on from ${latest?plain(latest):"its beginning, since it has no checkpoint"}`}
const OPEN_AT_FIRST=2;
function drawRuns(given,now,ended,state){const underWay=given.runs.filter(isUnderWay).slice(0,OPEN_AT_FIRST);
const first=new Set((underWay.length?underWay:given.runs.slice(0,1)).map((run)=>run.id));
const rows=given.runs.map((run)=>{const view=runView(run,now,ended);
return drawRun(view,state,first.has(run.id)!==state.open.has(view.id))});
return[rows.length>0&&h("ul",{class:"runs",key:"runs","aria-label":"Training runs"},rows),Boolean(given.more)&&h("p",{class:"quiet",key:"more"},`and ${count(given.more??0,"more run")}`)]}
function drawOneRun(given,now,ended,state){const run=runView(given,now,ended);
return[head(run,state,nameOf(run.name),false),h("div",{class:"run",key:"run"},details(run))]}
function drawBrief(given,now,ended,state){if(ended)return[];
const experiments=(given.experiments??[]).filter(goesOn).map((experiment)=>experimentView(experiment,now,false));
const runs=[...experiments,...given.runs.filter(isUnderWay).map((run)=>runView(run,now,false))];
if(!runs.length)return[];
return[h("ul",{class:"runs",key:"runs","aria-label":"Runs under way"},runs.map((run)=>h("li",{key:run.id},head(run,state,nameOf(run.name),true))))]}
function drawRun(run,state,open){const name=h("button",{type:"button",class:"opens","data-act":"group","data-function":run.id,"aria-expanded":String(open)},h("span",{"aria-hidden":"true"},open?"▾ ":"▸ "),nameOf(run.name));
return h("li",{key:run.id},head(run,state,name,!open),open&&h("div",{class:"run"},details(run)))}
function details(run){return[run.why&&h("p",{key:"why",class:run.state==="failed"?"attention":""},run.state==="failed"&&h("strong",{},h("span",{"aria-hidden":"true"},"⚠ "),"Attention: "),run.why),run.gang&&h("p",{key:"gang"},run.gang),run.ranks.length>0&&h("ul",{key:"ranks",class:"ranks","aria-label":`Ranks: ${run.rankCounts}`},run.ranks.map(drawRank)),drawCurves(run.curves,run.colour),run.checkpoints&&h("p",{key:"checkpoints"},run.curves.length?`${run.checkpoints}, marked ★`:run.checkpoints),run.load&&empty("Load the best one:",run.load),h("p",{key:"path",class:"quiet path"},run.path),run.resume&&h("p",{key:"resume",class:"quiet"},run.resume)]}
function drawRank(rank){const own=rank.state==="running"?` ink c${rank.colour}`:"";
return h("li",{key:String(rank.rank),title:rank.title,class:`state ${rank.state}`},h("span",{class:"unseen"},"rank "),String(rank.rank)," ",h("span",{class:`sign${own}`,"aria-hidden":"true"},rank.sign),h("span",{class:"unseen"},` ${rank.state}`))}
const RUNS_STYLE=`
.nbaccel-cockpit .runs{list-style:none;margin:6px 0 0;padding:0}
.nbaccel-cockpit .runs>li{margin:0;padding:5px 3px}
.nbaccel-cockpit .runs>li+li{border-top:1px solid color-mix(in srgb,var(--line) 55%,transparent)}
.nbaccel-cockpit .head{align-items:center}
.nbaccel-cockpit .head .facts{flex:1 1 14em;min-width:0;overflow-wrap:anywhere}
.nbaccel-cockpit .run{padding:2px 0 4px 16px}
.nbaccel-cockpit .run p{margin:4px 0;overflow-wrap:anywhere}
.nbaccel-cockpit .run code{overflow-wrap:anywhere;white-space:normal}
.nbaccel-cockpit .attention{padding-left:8px;border-left:4px solid ${PALETTE.attention}}
.nbaccel-cockpit .ranks{display:flex;flex-wrap:wrap;gap:2px 14px;list-style:none;margin:4px 0;padding:0}
.nbaccel-cockpit .ranks li{margin:0;min-width:2.6em;white-space:nowrap;position:relative}
.nbaccel-cockpit .curves{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(230px,100%),1fr));gap:8px 16px;margin:8px 0}
.nbaccel-cockpit .curve{margin:0;min-width:0;max-width:320px}
.nbaccel-cockpit .curve figcaption{margin:0;padding:0;font:inherit;color:inherit;text-align:left;justify-content:space-between;flex-wrap:nowrap;padding-right:10px}
.nbaccel-cockpit .curve .name{min-width:0;max-width:none}
.nbaccel-cockpit .curve svg{display:block;width:100%;height:auto}
.nbaccel-cockpit .curve text{font-size:11px;fill:var(--quiet)}
.nbaccel-cockpit .curve .star{fill:var(--ink);font-size:12px}
.nbaccel-cockpit .curve .level{stroke:var(--line);stroke-width:1;fill:none}
.nbaccel-cockpit .curve .marks{stroke:var(--quiet);stroke-width:1.5;fill:none}
.nbaccel-cockpit .curve .best{stroke:var(--quiet);stroke-width:1;stroke-dasharray:3 3;fill:none}
.nbaccel-cockpit .curve .curve-line{stroke:var(--c);stroke-width:2;stroke-linejoin:round;fill:none;background:none}
.nbaccel-cockpit .curve.wide{max-width:720px;margin-top:8px}
.nbaccel-cockpit .curve.wide figcaption{justify-content:flex-start}
.nbaccel-cockpit .curve .other{stroke:var(--quiet);stroke-width:1;opacity:.3;fill:none}
.nbaccel-cockpit .curve .front{stroke:var(--c);stroke-width:1.2;opacity:.6;fill:none;background:none}
.nbaccel-cockpit .curve .dots{stroke:var(--c);stroke-width:5;stroke-linecap:round;opacity:.55;fill:none;background:none}
.nbaccel-cockpit .curve .axis-line{stroke:var(--edge);stroke-width:1;fill:none}
.nbaccel-cockpit .curve .axis-name{fill:var(--ink);font-weight:600}
.nbaccel-cockpit td.trend{min-width:64px;max-width:90px}
@container (max-width:700px){.nbaccel-cockpit .run{padding-left:4px}.nbaccel-cockpit .head .facts{order:3;flex-basis:100%}}
@media (forced-colors:active){.nbaccel-cockpit .curve text,.nbaccel-cockpit .curve .star{fill:CanvasText}
.nbaccel-cockpit .curve path{stroke:CanvasText}.nbaccel-cockpit .curve .curve-line{stroke:Highlight}.nbaccel-cockpit .curve .curve-end{fill:Highlight}
.nbaccel-cockpit .attention{border-color:CanvasText}}
`.replaceAll(".nbaccel-cockpit",".nbaccel-cockpit.nbaccel-cockpit");
function viewOfRuns(sent){const rows=(run)=>({...run,ranks:rowsOf(run.ranks),checkpoints:rowsOf(run.checkpoints)});
const given={...sent,runs:(sent.runs??[]).map(rows),experiments:sent.experiments??[]};
const style=h("style",{key:"look of runs"},RUNS_STYLE);
const view=(now,ended,snapshot)=>({active:ended?0:given.runs.filter(isUnderWay).length+(given.experiments??[]).filter(goesOn).length,draw:(state)=>[style,...drawExperiments(given,now,ended,state,snapshot),...drawRuns(given,now,ended,state)],brief(state){const lines=drawBrief(given,now,ended,state);
return lines.length?[style,...lines]:[]},only(state){const[run,experiment]=[given.runs.find(({id})=>id===state.only),given.experiments?.find(({id})=>id===state.only)];
if(run)return[style,...drawOneRun(run,now,ended,state)];
return experiment?[style,...drawExperiment(experiment,now,ended,state,snapshot)]:[]}});
view.open=(state)=>(state.only?(given.experiments??[]).map(({id})=>id).filter((id)=>id===state.only):openExperiments(given,state));
return view}
return viewOfRuns;
}
