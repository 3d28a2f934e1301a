// A part of nbaccel's cockpit, joined from nbaccel/notebook/runs/ by tools/join_cockpit.py. Change it there.
export default function (parts) {
const { PALETTE, age, amount, button, count, demandWords, deviceWords, empty, h, nameOf, plain, rowsOf } = parts;
const LOG_FROM=100;
function ticks(low,high,count=4){
if(!(high>low))return[low];
const rough=(high-low)/count;
const power=10**Math.floor(Math.log10(rough));
const step=power*([1,2,5,10].find((each)=>power*each>=rough*0.999)??10);
const places=[];
for(let place=Math.ceil(low/step-1e-9);place<=Math.floor(high/step+1e-9);place++)places.push(Number((place*step).toPrecision(12)));
return places;
}
function logTicks(low,high){
const[first,last]=[Math.ceil(Math.log10(low)-1e-9),Math.floor(Math.log10(high)+1e-9)];
const step=Math.max(1,Math.ceil((last-first)/4));
const powers=[];
for(let power=first;power<=last;power+=step)powers.push(10**power);
return powers;
}
function isLogarithmic(low,high){
return low>0&&high/low>LOG_FROM;
}
function reading(value){
const size=Math.abs(value);
if(size>=1e4&&size<1e9)return value.toFixed(0);
const[digits,power]=value.toExponential(3).split("e");
const exponent=Number(power);
if(!value||(exponent>=-4&&exponent<4))return String(Number(value.toPrecision(4)));
return`${Number(digits)}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}
const WIDTH=280;
const HEIGHT=136;
const LEFT=46;
const FLOOR=HEIGHT-20;
const TOP=16;
const RIGHT=10;
function curveShape(curve,checkpoints){
const points=curve.points;
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
return{
name,
last:reading(ys[ys.length-1]),
line:points.map(([report,value],index)=>`${index ? "L" : "M"}${x(report)} ${y(value)}`).join(""),
end:{x:x(last),y:y(ys[ys.length-1])},
levels:(isLog?logTicks(low,high):ticks(low,high)).map((value)=>({y:y(value),label:reading(value)})),
reports:ticks(first,last).filter(Number.isInteger).map((value)=>({x:x(value),label:String(value)})),
marks:marks.map(({report})=>x(report)),
best:best?x(best.report):null,
words:[
`${name} over ${count(last - first + 1, "report")}: from ${reading(ys[0])} to ${reading(ys[ys.length - 1])}`,
`between ${reading(low)} and ${reading(high)}`,
marks.length?count(marks.length,"checkpoint"):"",
best?`the best one at report ${best.report}`:""
].filter(Boolean).join(", ")
};
}
function round(number){
return Math.round(number*10)/10;
}
function drawCurves(curves,colour){
if(!curves.length)return null;
return h("div",{class:"curves",key:"curves"},curves.map((curve)=>drawCurve(curve,colour)));
}
function drawCurve(curve,colour){
return h("figure",{key:curve.name,class:"curve"},
h("figcaption",{class:"line"},h("span",{class:"name cut",title:curve.name},curve.name),h("span",{class:"last"},curve.last)),
h("svg",{viewBox:`0 0 ${WIDTH} ${HEIGHT}`,role:"img","aria-label":curve.words},
curve.levels.map(({y,label})=>h("g",{key:label},
h("path",{d:`M${LEFT} ${y}H${WIDTH}`,class:"level"}),h("text",{x:LEFT-5,y:y+4,"text-anchor":"end"},label))),
curve.reports.map(({x,label})=>h("text",{key:`at ${label}`,x,y:HEIGHT-5,"text-anchor":"middle"},label)),
curve.marks.length>0&&h("path",{class:"marks",d:curve.marks.map((x)=>`M${x} ${FLOOR}v-6`).join("")}),
curve.best!=null&&h("path",{class:"best",d:`M${curve.best} ${FLOOR}V14`}),
curve.best!=null&&h("text",{class:"star",x:curve.best,y:11,"text-anchor":"middle"},"★"),
h("path",{class:`curve-line c${colour}`,d:curve.line}),
h("circle",{class:`curve-end c${colour}`,cx:curve.end.x,cy:curve.end.y,r:2.5})));
}
const UNDER_WAY=["waiting","running","stopping","restarting"];
const SIGNS={waiting:"◌",restarting:"◌",running:"●",stopping:"●",finished:"✓",returned:"✓",stopped:"⊘",failed:"✕"};
const STOPS=["Stop","Interrupt","Kill"];
const STEPS=["after its next report","now, with KeyboardInterrupt","at once, by ending its processes"];
const METRICS=4;
function isUnderWay(run){
return UNDER_WAY.includes(run.state??"waiting");
}
function runView(run,now,ended){
const underWay=isUnderWay(run);
const state=underWay&&ended?"ended with it":(run.state??"waiting");
const ranks=run.ranks??[];
const curves=run.curves??[];
const checkpoints=run.checkpoints??[];
const best=checkpoints.find((each)=>each.best)?.name??"";
const step=Math.min(run.stops??0,STOPS.length-1);
return{
id:run.id,
name:plain(run.name),
owner:plain(run.owner),
state,
sign:state==="ended with it"?"–":signOf(state),
colour:run.hue*PALETTE.hues[0].length,
underWay:underWay&&!ended,
time:timeWords(run,now),
progress:progressWords(run),
gang:ranks.length?gangWords(run):"",
metrics:metricWords(run),
ranks:ranks.map((rank)=>rankView(rank,run)),
rankCounts:rankCounts(ranks),
curves:curves.filter((curve)=>curve.points.length>1).map((curve)=>curveShape(curve,checkpoints)),
checkpoints:best&&`${count(checkpoints.length, "checkpoint")}, best ${plain(best)}`,
load:run.load??"",
path:plain(run.path),
why:plain(run.why),
resume:underWay&&!ended?"":resumeWords(run,state),
stop:underWay&&!ended?{label:STOPS[step],about:STEPS[step],order:`${run.id}/${run.stops ?? 0}`}:null
};
}
function signOf(state){
return SIGNS[state]??"◌";
}
function rankView(rank,run){
const state=rank.state??"waiting";
const report=rank.report==null?"":`report ${rank.report}`;
const facts=[state,report,deviceWords(rank.devices),rank.pid?`pid ${rank.pid}`:"",plain(rank.node)];
return{
rank:rank.rank,
state,
sign:signOf(state),
colour:run.hue*PALETTE.hues[0].length+(rank.rank%PALETTE.hues[0].length),
report,
title:`rank ${rank.rank}: ${facts.filter(Boolean).join(", ")}`
};
}
function gangWords(run){
const held={};
for(const rank of run.ranks??[]){
for(const[resource,ids]of Object.entries(rank.devices??{}))held[resource]=[...new Set([...(held[resource]??[]),...ids])];
}
const workers=count((run.ranks??[]).length,"worker");
const devices=deviceWords(held);
return[devices?`${workers} on ${devices}`:`${workers} with ${demandWords(run.each)} each`,run.backend].filter(Boolean).join(" · ");
}
function progressWords(run){
const known=run.epochs!=null&&run.epochs_done!=null;
const epoch=known?`${amount(run.epochs_done ?? 0)} of ${count(run.epochs ?? 0, "epoch")}`:run.epoch==null?"":`epoch ${amount(run.epoch)}`;
const left=run.left_s!=null&&isUnderWay(run)?`about ${age(run.left_s)} left`:"";
return[epoch,left,run.reports?count(run.reports,"report"):"no report yet"].filter(Boolean).join(" · ");
}
function timeWords(run,now){
return run.started_at?age((run.ended_at??now)-run.started_at):"";
}
function metricWords(run){
return(run.curves??[]).slice(0,METRICS).map(({name,points})=>`${plain(name)} ${reading(points[points.length - 1][1])}`).join(", ");
}
function rankCounts(ranks){
const counts=new Map();
for(const{state="waiting"}of ranks)counts.set(state,(counts.get(state)??0)+1);
return[...counts].map(([state,number])=>`${number} ${state}`).join(", ");
}
function resumeWords(run,state){
if(state==="finished")return"";
const latest=(run.checkpoints??[]).at(-1)?.name;
return`Resume: run the cell again; a run of the same name goes on from ${latest ? plain(latest) : "its beginning, since it has no checkpoint"}`;
}
const OPEN_AT_FIRST=2;
function drawRuns(given,now,ended,state){
const underWay=given.runs.filter(isUnderWay).slice(0,OPEN_AT_FIRST);
const first=new Set((underWay.length?underWay:given.runs.slice(0,1)).map((run)=>run.id));
const rows=given.runs.map((run)=>{
const view=runView(run,now,ended);
return drawRun(view,state,first.has(run.id)!==state.open.has(view.id));
});
return[
h("ul",{class:"runs",key:"runs","aria-label":"Training runs"},rows),
Boolean(given.more)&&h("p",{class:"quiet",key:"more"},`and ${count(given.more ?? 0, "more run")}`)
];
}
function drawBrief(given,now,ended,state){
const runs=ended?[]:given.runs.filter(isUnderWay).map((run)=>runView(run,now,false));
if(!runs.length)return[];
return[h("ul",{class:"runs",key:"runs","aria-label":"Training runs"},runs.map((run)=>h("li",{key:run.id},head(run,state,nameOf(run.name),true))))];
}
function drawRun(run,state,open){
const name=h("button",{type:"button",class:"opens","data-act":"group","data-function":run.id,"aria-expanded":String(open)},
h("span",{"aria-hidden":"true"},open?"▾ ":"▸ "),nameOf(run.name));
return h("li",{key:run.id},head(run,state,name,!open),open&&h("div",{class:"run"},details(run)));
}
function head(run,state,name,brief){
const facts=[run.owner,run.time,run.progress,brief&&run.metrics].filter(Boolean).join(" · ");
return h("div",{class:"line head"},name,stateOf(run),h("span",{class:"facts quiet"},facts),stopButton(run,state));
}
function stateOf({state,sign,colour}){
const own=state==="running"?` ink c${colour}`:"";
return h("span",{class:`nowrap state ${state}`},h("span",{class:`sign${own}`,"aria-hidden":"true"},sign),` ${state}`);
}
function stopButton(run,state){
if(!run.stop)return null;
const{label,about,order}=run.stop;
const data={"data-id":order,"data-name":run.name};
if(state.asked.has(order))return button("asked…",{...data,class:"aside","aria-label":`${label} ${run.name}`,disabled:true});
const title=`${label} ${run.name} ${about}`;
if(!run.owner)return button(label,{...data,class:"aside","data-act":"cancel-run","aria-label":`${label} ${run.name}`,title});
if(state.doubted!==order){
return button(`${label}…`,{...data,class:"aside","data-act":"doubt","data-owner":run.owner,"aria-label":`${label} ${run.name} of ${run.owner}`,title});
}
return h("span",{class:"ask nowrap aside"},
button("Keep",{...data,"data-act":"keep","aria-label":`Keep ${run.name} of ${run.owner}`})," ",
button(`${label} it`,{...data,"data-act":"cancel-run",class:"urgent","aria-label":`${label} ${run.name} of ${run.owner} all the same`}));
}
function details(run){
return[
run.why&&h("p",{key:"why",class:run.state==="failed"?"attention":""},
run.state==="failed"&&h("strong",{},h("span",{"aria-hidden":"true"},"⚠ "),"Attention: "),run.why),
run.gang&&h("p",{key:"gang"},run.gang),
run.ranks.length>0&&h("ul",{key:"ranks",class:"ranks","aria-label":`Ranks: ${run.rankCounts}`},run.ranks.map(drawRank)),
drawCurves(run.curves,run.colour),
run.checkpoints&&h("p",{key:"checkpoints"},run.curves.length?`${run.checkpoints}, marked ★`:run.checkpoints),
run.load&&empty("Load the best one:",run.load),
h("p",{key:"path",class:"quiet path"},run.path),
run.resume&&h("p",{key:"resume",class:"quiet"},run.resume)
];
}
function drawRank(rank){
const own=rank.state==="running"?` ink c${rank.colour}`:"";
return h("li",{key:String(rank.rank),title:rank.title,class:`state ${rank.state}`},
h("span",{class:"unseen"},"rank "),String(rank.rank)," ",h("span",{class:`sign${own}`,"aria-hidden":"true"},rank.sign),
h("span",{class:"unseen"},` ${rank.state}`));
}
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
@container (max-width:700px){.nbaccel-cockpit .run{padding-left:4px}.nbaccel-cockpit .head .facts{order:3;flex-basis:100%}}
@media (forced-colors:active){.nbaccel-cockpit .curve text,.nbaccel-cockpit .curve .star{fill:CanvasText}
.nbaccel-cockpit .curve path{stroke:CanvasText}.nbaccel-cockpit .curve .curve-line{stroke:Highlight}.nbaccel-cockpit .curve .curve-end{fill:Highlight}
.nbaccel-cockpit .attention{border-color:CanvasText}}
`.replaceAll(".nbaccel-cockpit",".nbaccel-cockpit.nbaccel-cockpit");
function viewOfRuns(sent){
const rows=(run)=>({...run,ranks:rowsOf(run.ranks),checkpoints:rowsOf(run.checkpoints)});
const given={...sent,runs:sent.runs.map(rows)};
const style=h("style",{key:"look of runs"},RUNS_STYLE);
return(now,ended)=>({
active:ended?0:given.runs.filter(isUnderWay).length,
draw:(state)=>[style,...drawRuns(given,now,ended,state)],
brief(state){
const lines=drawBrief(given,now,ended,state);
return lines.length?[style,...lines]:[];
}
});
}
return viewOfRuns;
}
