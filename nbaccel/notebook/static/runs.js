// A part of nbaccel's cockpit, joined from nbaccel/notebook/runs/ by tools/join_cockpit.py. Change it there.
export default function(b5){const{PALETTE,age,amount,button,cell,count,demandWords,deviceWords,duration,empty,h,inSight,nameOf,plain,rowsOf,table}=b5;
const LOSS_LOG_FROM=10,LOG_FROM=100;
function ticks(x,z,count=4){if(!(z>x))return[x];
const bu=(z-x)/count,W=10**Math.floor(Math.log10(bu)),K=W*([1,2,5,10].find(t=>W*t>=bu*0.999)??10),V=[];
for(let y=Math.ceil(x/K-1e-9);y<=Math.floor(z/K+1e-9);y++)V.push(Number((y*K).toPrecision(12)));
return V}function logTicks(x,z){const[B,C]=[Math.ceil(Math.log10(x)-1e-9),Math.floor(Math.log10(z)+1e-9)],K=Math.max(1,Math.ceil((C-B)/4)),aq=[];
for(let W=B;W<=C;W+=K)aq.push(10**W);
if(aq.length>2)return aq;
const b$=aq.length?[aq[0]/10,...aq]:[10**C];
return b$.flatMap(W=>[W,3*W]).filter(t=>t>=x*(1-1e-9)&&t<=z*(1+1e-9))}function isLogarithmic(x,z,d=""){return x>0&&z/x>(/loss/i.test(d)?LOSS_LOG_FROM:LOG_FROM)}function reading(c){const bA=Math.abs(c);
if(bA>=1e4&&bA<1e9)return c.toFixed(0);
const[bQ,W]=c.toExponential(3).split("e"),aN=Number(W);
if(!c||(aN>=-4&&aN<4))return String(Number(c.toPrecision(4)));
return`${Number(bQ)}e${aN<0?"-":"+"}${String(Math.abs(aN)).padStart(2,"0")}`}
const LETTERS="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",WITHOUT_VALUE={running:0,pending:1,done:2,stopped:3,error:4};
const known=new WeakMap();
function trialsOf(m,v){const Y=known.get(v);
if(Y)return Y;
const o=[...v.rows].map(([j,f])=>trialOf(j,f)),bi={trials:bestFirst(o,m.mode??""),names:varying(o),failures:failuresOf(o)};
known.set(v,bi);
return bi}function shortTrial(j){return plain(j.split("_").at(-1))}function trialOf(j,f){return{id:j,short:shortTrial(j),row:f,state:f.state??"pending",params:flat(f.config??{}),value:typeof f.value==="number"?f.value:null,points:pointsOf(f)}}function bestFirst(o,a_){const a1=a_==="max"?-1:1,y=k=>(k.value!=null&&a_?-1:(WITHOUT_VALUE[k.state]??5));
return[...o].sort((ag,ah)=>{if(!a_)return ag.row.number-ah.row.number;
const B=y(ag)-y(ah);
if(B||ag.value==null||ah.value==null)return B||ag.row.number-ah.row.number;
return a1*(ag.value-ah.value)||ag.row.number-ah.row.number})}function flat(bN,bp=""){const U={};
for(const[d,c]of Object.entries(bN)){const b0=c&&typeof c==="object"&&!Array.isArray(c)&&Object.keys(c).length;
if(b0)Object.assign(U,flat(c,`${bp}${d}/`));
else U[bp+d]=c}
return U}function varying(o){const ae=new Map();
for(const{params:L}of o)for(const d of Object.keys(L))ae.set(d,new Set());
for(const{params:L}of o)for(const[d,aS]of ae)if(aS.size<2)aS.add(JSON.stringify(L[d])??"");
return[...ae].filter(([,aS])=>o.length<2||aS.size>1).map(([d])=>d)}function failuresOf(o){const aY=new Map();
for(const k of o){const N=plain(k.row.error);
if(!N)continue;
const bf=aY.get(N)??{error:N,trials:[]};
bf.trials.push(k);
aY.set(N,bf)}
return[...aY.values()].sort((ag,ah)=>ah.trials.length-ag.trials.length)}function pointsOf({curve:i}){if(!i)return[];
const[x,z]=i.log?[Math.log10(i.low),Math.log10(i.high)]:[i.low,i.high],V=Math.max(1,i.letters.length-1),w=[];
[...i.letters].forEach((bX,y)=>{const bm=LETTERS.indexOf(bX),J=x+((z-x)*bm)/63,c=i.log?10**J:J;
if(bm>=0)w.push([Math.round(i.first+((i.last-i.first)*y)/V),c])});
return w}function paramWords(c){if(c===undefined)return"";
if(typeof c==="number"&&!Number.isInteger(c))return reading(c);
return plain(typeof c==="string"?c:pythonOf(c))}function pythonOf(c){if(c===null||c===undefined)return"None";
if(c===true||c===false)return c?"True":"False";
if(Array.isArray(c))return`[${c.map(pythonOf).join(", ")}]`;
if(typeof c==="object")return`{${Object.entries(c).map(([d,t])=>`${JSON.stringify(d)}: ${pythonOf(t)}`).join(", ")}}`;
return typeof c==="string"?JSON.stringify(c):String(c)}
const WIDE=560,TALL=200,SMALL={width:220,height:150};
const MARGIN=52,BELOW=22,CEILING=10,IN_FRONT=8,MOST_LINES=300,MOST_AXES=6,AXIS_ROOM=66,MOST_WORDS=10,MOST_LABELLED=5,BESIDE_LAST=46,LINE=12,LETTER=6.5;
function rounded(aG){return Math.round(aG*10)/10}function scaleOf(ae,Q,X,d){let[x,z]=[Infinity,-Infinity];
for(const c of ae)[x,z]=[Math.min(x,c),Math.max(z,c)];
const aF=isLogarithmic(x,z,d),J=aF?Math.log10:c=>c,[B,C]=[J(x),J(z)],S=c=>rounded(Q+(C>B?(J(c)-B)/(C-B):0.5)*(X-Q)),cb=ae.every(Number.isInteger),V=aF?logTicks(x,z):ticks(x,z).filter(t=>!cb||Number.isInteger(t));
return{at:S,log:aF,levels:V.map(c=>({y:S(c),label:reading(c)}))}}function layers(Z){return{best:Z[0]??"",front:Z.slice(1,1+IN_FRONT),others:Z.slice(1+IN_FRONT).join("")}}function overlaidShape(o,r,P=WIDE){const D=o.filter(({points:w})=>w.length>1).slice(0,MOST_LINES);
if(!D.length)return null;
const bb=D.flatMap(({points:w})=>w),ak=scaleOf([0,1],MARGIN,P-10),C=bb.reduce((ac,[p])=>Math.max(ac,p),1),p=I=>ak.at(I/C),{at:S,log:aF,levels:R}=scaleOf(bb.map(([,c])=>c),TALL-BELOW,CEILING,r);
const Z=D.map(({points:w})=>w.map(([I,c],ab)=>`${ab?"L":"M"}${p(I)} ${S(c)}`).join("")),ap=o.length-D.length;
return{...layers(Z),wide:P,levels:R,log:aF,reports:ticks(0,C).filter(Number.isInteger).map(I=>({x:p(I),label:String(I)})),words:`${plain(r)} over ${count(C+1,"report")} of ${count(D.length,"trial")}, the best in front: ${D[0].short}, ${lastWords(D[0])}`,left:ap}}function lastWords({value:c,points:w}){return`now ${reading(c??w[w.length-1][1])}`}function axisOf(d,ae,Q,X){const aU=ae.filter(c=>c!==undefined&&c!==null);
if(aU.length&&aU.every(c=>typeof c==="number"&&Number.isFinite(c))){const{at:S,levels:R}=scaleOf(aU,Q,X,d);
const bd=[...new Set(aU)].sort((b1,b2)=>b1-b2),bW=bd.length>MOST_LABELLED?R:bd.map(c=>({y:S(c),label:reading(c)}));
return{name:plain(d),at:c=>(typeof c==="number"?S(c):null),levels:bW}}
const aM=[...new Set(ae.map(paramWords))].sort();
if(aM.length>MOST_WORDS)return null;
const{at:S}=scaleOf([0,Math.max(1,aM.length-1)],Q,X);
const R=aM.map((n,y)=>({y:S(y),label:n.length>10?`${n.slice(0,9)}…`:n}));
return{name:plain(d),at:c=>S(aM.indexOf(paramWords(c))),levels:R}}function apart(R,bt){const ao=[];
for(const aZ of R){const Y=ao[ao.length-1];
if(!Y||Math.abs(aZ.y-Y.y)>=(bt(aZ.label)+bt(Y.label))/2)ao.push(aZ)}
return ao}function parallelShape(o,O,r,P=WIDE){const D=o.filter(({value:c})=>c!=null).slice(0,MOST_LINES),[Q,X]=[TALL-8,26],ac=Math.min(MOST_AXES,Math.floor((P-MARGIN-BESIDE_LAST)/AXIS_ROOM)),v=O.slice(0,ac).map(d=>({name:d,axis:axisOf(d,D.map(({params:L})=>L[d]),Q,X)})),a2=v.filter(({axis:ay})=>ay);
if(D.length<2||!a2.length)return null;
const bg=[...a2.map(({name:d,axis:ay})=>k=>ay?.at(k.params[d])??null)],C=(axisOf(r,D.map(({value:c})=>c),Q,X));
bg.push(k=>C.at(k.value));
const ax=[...a2.map(({axis:ay})=>(ay)),C],K=(P-MARGIN-BESIDE_LAST)/(ax.length-1),p=y=>rounded(MARGIN+y*K),Z=D.map(k=>{const w=bg.map((J,y)=>({x:p(y),y:J(k)})).filter(({y:F})=>F!=null);
return w.map((bo,ab)=>`${ab?"L":"M"}${bo.x} ${bo.y}`).join("")});
return{...layers(Z),wide:P,axes:ax.map(({name:d,levels:R},y)=>({name:cutTo(Math.floor(K/8),d),x:p(y),levels:apart(R,()=>LINE)})),bottom:Q,top:X,words:`Parallel coordinates of ${count(D.length,"trial")}: ${ax.map(({name:d})=>d).join(", ")}; the best in front: ${wordsOfBest(D[0],O,r)}`}}function cutTo(ac,av){return av.length>ac?`${av.slice(0,ac-1)}…`:av}function wordsOfBest({params:L,value:c},O,r){const ai=O.slice(0,MOST_AXES).map(d=>`${plain(d)} ${paramWords(L[d])}`);
return[...ai,`${plain(r)} ${reading(c??0)}`].join(", ")}function scatterShape(o,d,r){const D=o.filter(({value:c,params:L})=>c!=null&&L[d]!==undefined),{width:aW,height:J}=SMALL;
const ak=D.length>1?axisOf(d,D.map(({params:L})=>L[d]),MARGIN,aW-14):null;
if(!ak)return null;
const{at:S,levels:R}=scaleOf(D.map(({value:c})=>c??0),J-BELOW,CEILING+8,r);
const[H,...aR]=D.map(({params:L,value:c})=>({x:ak.at(L[d])??MARGIN,y:S(c??0)}));
return{name:plain(d),best:H,others:aR.map(a9=>`M${a9.x} ${a9.y}h0`).join(""),levels:R,below:apart(ak.levels,n=>(n.length+1)*LETTER).map(({y:F,label:n})=>({x:F,label:n})),words:`${plain(r)} against ${plain(d)} of ${count(D.length,"trial")}, the best at ${paramWords(D[0].params[d])}`}}function scatterShapes(o,O,r){return O.slice(0,MOST_AXES).map(d=>scatterShape(o,d,r)).filter(u=>u!==null)}function sparkPath({points:w}){if(w.length<2)return"";
const bR=scaleOf(w.map(([,c])=>c),15,1),ak=scaleOf([w[0][0],w[w.length-1][0]],0,64),bY=p=>rounded(((p-w[0][0])/(w[w.length-1][0]-w[0][0]||1))*64);
return ak&&w.map(([p,c],ab)=>`${ab?"L":"M"}${bY(p)} ${bR.at(c)}`).join("")}function drawLayers({best:H,front:bV,others:aR},G){return[aR&&h("path",{key:"others",class:"other",d:aR}),...bV.map((bO,y)=>h("path",{key:`front ${y}`,class:`front c${G}`,d:bO})).reverse(),h("path",{key:"best",class:`curve-line c${G}`,d:H})]}function drawOverlaid(u,r,G){return h("figure",{key:"overlaid",class:"curve wide"},h("figcaption",{class:"line"},h("span",{class:"name cut"},r),h("span",{class:"quiet"},`over reports, the best in front${u.log?", log scale":""}`)),h("svg",{viewBox:`0 0 ${u.wide} ${TALL}`,role:"img","aria-label":u.words},u.levels.map(({y:F,label:n})=>h("g",{key:n},h("path",{d:`M52 ${F}H${u.wide}`,class:"level"}),h("text",{x:47,y:F+4,"text-anchor":"end"},n))),u.reports.map(({x:p,label:n})=>h("text",{key:`at ${n}`,x:p,y:TALL-5,"text-anchor":"middle"},n)),drawLayers(u,G)))}function placeOfName({axes:ax,wide:P},y){const{x:p,name:d}=ax[y];
if(y===0)return{x:p-40,"text-anchor":"start"};
return p+(d.length*LETTER)/2>P?{x:P,"text-anchor":"end"}:{x:p,"text-anchor":"middle"}}function drawParallel(u,G){return h("figure",{key:"parallel",class:"curve wide"},h("figcaption",{class:"line"},h("span",{class:"name"},"Parameters"),h("span",{class:"quiet"},"and what came of them, the best in front")),h("svg",{viewBox:`0 0 ${u.wide} ${TALL}`,role:"img","aria-label":u.words},drawLayers(u,G),u.axes.map(({name:d,x:p,levels:R},y)=>h("g",{key:d},h("path",{class:"axis-line",d:`M${p} ${u.top}V${u.bottom}`}),h("text",{class:"axis-name",y:14,...placeOfName(u,y)},d),R.map(({y:F,label:n})=>h("text",{key:n,y:F+4,...(y===u.axes.length-1?{x:p+5}:{x:p-5,"text-anchor":"end"})},n))))))}function drawScatter(u,G){const{width:aW,height:J}=SMALL;
return h("figure",{key:`against ${u.name}`,class:"curve"},h("figcaption",{class:"line"},h("span",{class:"name cut",title:u.name},u.name)),h("svg",{viewBox:`0 0 ${aW} ${J}`,role:"img","aria-label":u.words},u.levels.map(({y:F,label:n})=>h("g",{key:n},h("path",{d:`M52 ${F}H${aW}`,class:"level"}),h("text",{x:47,y:F+4,"text-anchor":"end"},n))),u.below.map(({x:p,label:n})=>h("text",{key:`at ${n}`,x:p,y:J-5,"text-anchor":"middle"},n)),h("path",{class:`dots c${G}`,d:u.others}),h("circle",{class:`curve-end c${G}`,cx:u.best.x,cy:u.best.y,r:3.5}),h("text",{class:"star",x:u.best.x,y:u.best.y-6,"text-anchor":"middle"},"★")))}
const STOPS=["Stop","Interrupt","Kill"],STEPS=["after its next report","now, with KeyboardInterrupt","at once, by ending its processes"];
function stopButton(a,b){if(!a.stop)return null;
const{label:n,about:q,order:a0}=a.stop;
const aA={"data-id":a0,"data-name":a.name};
if(b.asked.has(a0))return button("asked…",{...aA,class:"aside","aria-label":`${n} ${a.name}`,disabled:true});
const bD=`${n} ${a.name} ${q}`;
if(!a.owner)return button(n,{...aA,class:"aside","data-act":"cancel-run","aria-label":`${n} ${a.name}`,title:bD});
if(b.doubted!==a0){return button(`${n}…`,{...aA,class:"aside","data-act":"doubt","data-owner":a.owner,"aria-label":`${n} ${a.name} of ${a.owner}`,title:bD})}
return h("span",{class:"ask nowrap aside"},button("Keep",{...aA,"data-act":"keep","aria-label":`Keep ${a.name} of ${a.owner}`})," ",button(`${n} it`,{...aA,"data-act":"cancel-run",class:"urgent","aria-label":`${n} it: ${a.name} of ${a.owner}`}))}
const TRIAL_SIGNS={pending:"◌",running:"●",done:"✓",stopped:"⊘",error:"✕",interrupted:"⊘"};
const MOST_COLUMNS=5,MOST_NAMED=3,orders=new Map();
function drawTrials(q,M){if(!M?.rows.size)return[q.view.underWay&&empty("Asking for the trials …")];
const U=trialsOf(q.experiment,M),r=q.experiment.shown||q.experiment.metric||"",P=Math.min(WIDE,q.state.room-24),bk=r?overlaidShape(U.trials,r,P):null;
return[...drawFailures(U),tableOf(U,r,q),bk&&drawOverlaid(bk,plain(r),q.view.colour),...(q.view.underWay?[]:drawEnd(U,r,q.view.colour,P))]}function drawEnd({trials:o,names:O},r,G,P){const bl=parallelShape(o,O,r,P),bw=scatterShapes(o,O,r);
return[bl&&drawParallel(bl,G),bw.length>0&&h("div",{key:"scatters",class:"curves",role:"group","aria-label":`${plain(r)} against each parameter`},bw.map(u=>drawScatter(u,G)))]}function drawFailures({failures:bc}){if(!bc.length)return[];
const aQ=({error:N,trials:o})=>{const ca=o.slice(0,MOST_NAMED).map(({short})=>short).join(", ")+(o.length>MOST_NAMED?", …":"");
return h("li",{key:N},h("span",{class:"state failed"},h("span",{class:"sign","aria-hidden":"true"},"✕"),` ${count(o.length,"trial")} failed: `),N," ",h("span",{class:"quiet"},ca))};
return[h("ul",{key:"failures",class:"lines","aria-label":"Failures"},bc.map(aQ))]}function tableOf(U,r,q){const{id:j,name:d}=q.view;
const O=U.names.slice(0,MOST_COLUMNS),o=inOrder(U.trials,q),an={device:o.some(k=>deviceOf(k,q)),why:o.some(({row:f})=>f.waits)};
const bM=["Trial","State",...O.map(plain),...(r?[plain(r),"Curve"]:[]),...(an.device?["Device"]:[]),"Took",...(an.why?["Why"]:[]),""],bz=q.state.sights.get(j)??{top:0,height:460,row:33};
const{first:B,last:C}=inSight(o.length,bz);
const M=o.slice(B,C).map(k=>drawRow(k,O,r,an,q)),be=(aV,bv)=>bv>0&&h("tr",{key:aV,class:"gap","aria-hidden":"true",style:`height:${Math.round(bv*bz.row)}px`}),b7=([be("above",B),...M,be("below",o.length-C)].filter(Boolean));
return table(`Trials of ${d}`,bM,b7,{rows:o.length,sight:j})}function inOrder(o,{view:e,state:b}){const Y=b.heldSight===e.id?orders.get(e.id):null;
if(!Y){orders.set(e.id,o);
return o}
const g=new Map(o.map(k=>[k.id,k])),b8=Y.map(({id:j})=>g.get(j)).filter(k=>k!==undefined),known=new Set(Y.map(({id:j})=>j));
return[...b8,...o.filter(({id:j})=>!known.has(j))]}function drawRow(k,O,r,an,q){const{row:f}=k;
const b=trialState(k,q),aH=b==="running"?` ink c${q.view.colour}`:"",ai=k.value!=null?reading(k.value):plain(f.value==null?"":String(f.value)),aQ=sparkPath(k),bP=deviceOf(k,q);
return h("tr",{key:k.id,"data-trial":k.id},h("th",{scope:"row",title:plain(k.id)},h("span",{class:"name"},k.short)),h("td",{class:`nowrap state ${b==="error"?"failed":b==="pending"?"waiting":b}`},h("span",{class:`sign${aH}`,"aria-hidden":"true"},TRIAL_SIGNS[b]??"◌"),` ${f.waits&&q.view.underWay?"waiting":b}`),O.map(d=>h("td",{key:d,class:"nowrap","data-head":plain(d)},h("span",{class:"cut",title:paramWords(k.params[d])},paramWords(k.params[d])))),r&&h("td",{class:"nowrap","data-head":plain(r)},ai),r&&h("td",{class:"trend"},aQ&&h("svg",{class:"spark",viewBox:"0 0 64 16",preserveAspectRatio:"none",role:"img","aria-label":`${count(f.reports??0,"report")}`},h("path",{d:aQ}))),an.device&&cell(bP,"nowrap"),cell(tookWords(k,q),"nowrap"),an.why&&cell(whyOf(k,q),"why"),cell([stopButton(stoppable(k,q),q.state),copyButton(k)],"acts"))}function trialState({row:f,state:b},{view:e}){return!e.underWay&&f.started_at&&["running","pending"].includes(b)?"interrupted":b}function deviceOf(k,q){return trialState(k,q)==="interrupted"?"":deviceWords(k.row.devices)}function tookWords({row:f,state:b},{view:e,experiment:m,now:g}){if(!f.started_at)return"";
const a7=f.started_at+(f.idle_s??0),ba=f.ended_at??(e.underWay?null:m.ended_at);
if(ba)return duration(ba-a7);
return b==="running"&&e.underWay?age(g-a7):""}function whyOf({id:j,row:f},{view:e,whys:a3}){if(!f.waits||!e.underWay)return"";
return a3.get(`${e.name} ${plain(j)}`)??"its process is being started"}function stoppable({id:j,short,row:f,state:b},{view:e}){const K=Math.min(f.stops??0,STOPS.length-1),bS=e.underWay&&(b==="running"||b==="pending"),q=b==="pending"?"before it begins":STEPS[K];
return{name:`trial ${short}`,owner:e.owner,stop:bS?{label:STOPS[K],about:q,order:`${e.id}/${f.stops??0}/${j}`}:null}}function copyButton({short,row:f}){const av=pythonOf(f.config??{});
return button("Config",{"data-act":"copy","data-text":av,"data-name":`the config of trial ${short}`,"aria-label":`Copy the config of trial ${short}`,title:`Copy ${plain(av)}`})}
const EXPERIMENT_SIGNS={running:"●",stopping:"●",finished:"✓",stopped:"⊘",failed:"✕"};
const MOST_PARAMETERS=4;
function goesOn(m){return["running","stopping"].includes(m.state??"running")}function experimentView(m,g,l){const E=goesOn(m)&&!l,b=goesOn(m)&&l?"ended with it":(m.state??"running"),K=Math.min(m.stops??0,STOPS.length-1);
return{id:m.id,name:plain(m.name),owner:plain(m.owner),state:b,sign:b==="ended with it"?"–":(EXPERIMENT_SIGNS[b]??"◌"),colour:m.hue*PALETTE.hues[0].length,underWay:E,time:m.started_at?age((m.ended_at??g)-m.started_at):"",progress:trialWords(m),metrics:bestWords(m),best:bestWords(m,Infinity),why:plain(m.why),path:plain(m.path),goOn:E||b==="finished"?"":`tune.Tuner.restore(${JSON.stringify(m.path)}, trainable)`,stop:E?{label:STOPS[K],about:STEPS[K],order:`${m.id}/${m.stops??0}`}:null}}function trialWords(m){const{counts:aa={},total:bE}=m;
const am=goesOn(m)?"running":"interrupted",l=["done","stopped","error"].reduce((aI,b)=>aI+(aa[b]??0),0),ai=bE==null?`${count(l,"trial")} ended`:`${l} of ${count(bE,"trial")} ended`;
return[ai,aa.running?`${aa.running} ${am}`:"",aa.error?`${aa.error} failed`:""].filter(Boolean).join(" · ")}function bestWords({best:H,metric:r},ac=MOST_PARAMETERS){if(!H)return"";
const L=Object.entries(H.config).map(([d,c])=>`${plain(d)} ${plain(c)}`),ai=L.slice(0,ac).join(", ")+(L.length>ac?", …":"");
return`${plain(r)} ${reading(H.value)}${ai&&` with ${ai}`}`}function head(a,b,d,bL){const aX=[a.owner,a.time,a.progress,bL&&a.metrics].filter(Boolean).join(" · ");
return h("div",{class:"line head",key:"head"},d,stateOf(a),h("span",{class:"facts quiet"},aX),stopButton(a,b))}function stateOf({state:b,sign:a1,colour:G}){const aH=["running","serving"].includes(b)?` ink c${G}`:"";
return h("span",{class:`nowrap state ${b}`},h("span",{class:`sign${aH}`,"aria-hidden":"true"},a1),` ${b}`)}function openExperiments({experiments:T=[]},b){const E=T.filter(goesOn).slice(0,1),B=new Set((E.length?E:T.slice(0,1)).map(({id:j})=>j));
return T.map(({id:j})=>j).filter(j=>B.has(j)!==b.open.has(j))}function drawExperiments(v,g,l,b,ad){const T=v.experiments??[];
if(!T.length)return[];
const _=new Set(openExperiments(v,b)),a3=waitsOf(ad),M=T.map(m=>{const e=experimentView(m,g,l),aP=_.has(e.id),d=h("button",{type:"button",class:"opens","data-act":"group","data-function":e.id,"aria-expanded":String(aP)},h("span",{"aria-hidden":"true"},aP?"▾ ":"▸ "),nameOf(e.name));
return h("li",{key:e.id},head(e,b,d,!aP),aP&&h("div",{class:"run"},trialDetails({view:e,experiment:m,state:b,now:g,whys:a3})))});
return[h("ul",{class:"runs",key:"experiments","aria-label":"Experiments"},M)]}function drawExperiment(m,g,l,b,ad){const e=experimentView(m,g,l);
return[head(e,b,nameOf(e.name),false),h("div",{class:"run",key:"run"},trialDetails({view:e,experiment:m,state:b,now:g,whys:waitsOf(ad)}))]}function trialDetails(q){const{view:e,state:b}=q;
const aC=e.state==="failed";
return[e.why&&h("p",{key:"why",class:aC?"attention":""},aC&&h("strong",{},h("span",{"aria-hidden":"true"},"⚠ "),"Attention: "),e.why),e.best&&h("p",{key:"best"},`best: ${e.best} (trial ${shortTrial(q.experiment.best?.id??"")})`),...drawTrials(q,b.past[`rows/${e.id}`]?.data??null),h("p",{key:"path",class:"quiet path"},e.path),e.goOn&&empty("Go on:",e.goOn)]}function waitsOf(ad){const M=(ad?.tasks??[]).filter(f=>f.state.startsWith("PENDING"));
return new Map(M.map(f=>[plain(f.name),plain(f.reason==null?f.why:ad?.reasons?.[f.reason])]))}
const SIGNS_OF_SERVED={serving:"●",deploying:"◌",unhealthy:"⚠",failed:"✕",ending:"●",ended:"–"};
const MOST_PLACES=8;
function isServed(s){return!["ended","failed"].includes(s.state??"serving")}function servedView(s,g,l){const E=isServed(s)&&!l,b=l?"ended":(s.state??"serving"),aB=l?[]:(s.deployments??[]);
return{id:s.id,name:plain(s.name),owner:plain(s.owner),state:b,sign:SIGNS_OF_SERVED[b]??"◌",colour:PALETTE.hues[0].length*Math.max(0,s.hue??0),underWay:E,time:E&&s.started_at?age(g-s.started_at):"",progress:replicaWords({...s,state:b,deployments:aB}),metrics:requestWords({...s,state:b}),url:[s.route,s.url].map(plain).find(t=>/^(https?:\/\/|\/[^/])/.test(t))??"",curl:E?curlWords(s):"",why:plain(s.why),deployments:aB.map(t=>({name:plain(t.name),words:deploymentWords(t),why:plain(t.message),replicas:(t.replicas??[]).map(f=>replicaView(f,g)),blocked:plain((t.replicas??[]).find(f=>f.blocked)?.blocked)})),errors:(s.deployments??[]).filter(({error:N})=>N).map(({name:d,error:N})=>({name:plain(d),words:`${plain(N?.type)}: ${plain((N?.message??"").split("\n")[0]).slice(0,200)}`,ago:age(g-(N?.time??g)),traceback:N?.traceback??""})),stop:E?{label:"Stop",about:"after what it has under way",order:`${s.id}/${s.stops??0}`}:null}}function replicaView(f,g){return{id:f.id,place:f.state==="STARTING"?"":placeOfReplica(f),state:f.blocked?"blocked":f.state.toLowerCase(),pid:f.pid??null,age:f.since?age(g-f.since):"",underWay:f.state==="STARTING"?"":`${f.under_way??0} under way`}}function replicaWords({state:b,deployments:aB=[]}){if(b==="ended")return"";
const aj=aB.reduce((aI,t)=>aI+servingOf(t),0),aJ=aB.reduce((aI,t)=>aI+t.wanted,0);
return aj===aJ?count(aj,"replica"):`${aj} of ${count(aJ,"replica")}`}function servingOf({replicas:at=[],more:a$=0}){return at.filter(({state:b})=>b==="RUNNING").length+a$}function requestWords({state:b,requests:br=0,per_s:b6=0,p50_s:b3,p95_s:b4,queued:bq=0,failed:aC=0}){if(!br)return"";
const a8=aC?`${aC} failed`:"";
if(b==="ended")return[count(br,"request"),a8].filter(Boolean).join(" · ");
const bC=(d,bx)=>(bx==null?"":`${d} ≤ ${short(1000*bx)} ms`);
return[`${short(b6)} requests/s`,bC("p50",b3),bC("p95",b4),bq?`queue ${bq}`:"",a8].filter(Boolean).join(" · ")}function short(c){return String(Number(c.toPrecision(3)))}function deploymentWords(deployment){const{wanted:aJ,replicas:at=[],most_each:bj=0,share:by="",batch:a6=0,batch_limit:bK=0}=deployment;
const aj=servingOf(deployment),V=at.filter(({state:b})=>b==="RUNNING").map(placeOfReplica).slice(0,MOST_PLACES),ap=aj-V.length,aV=[...V,...(ap>0&&V.length?[`and ${ap} more`]:[])].join(", ");
return[aj===aJ?count(aj,"replica"):`${aj} of ${count(aJ,"replica")}`,by&&V.length?`${by} on ${aV}`:aV,bj?`max ${bj} each`:"",a6?`batch ${Number(a6.toPrecision(2))} of ${bK}`:""].filter(Boolean).join(" · ")}function placeOfReplica({devices:aL={},fallback:bU="",blocked:aK=""}){const aD=Object.entries(aL).filter(([,aE])=>aE.length).map(([d,aE])=>`${plain(d)} ${aE.join(",")}`),al=[plain(bU),aK?"blocked":""].filter(Boolean).join(", ");
return(aD.join(" ")||"CPU")+(al&&` (${al})`)}function curlWords({url:bF,asks_token:bJ}){return bF?`curl -s ${plain(bF)}${bJ?" -H 'Authorization: Bearer …'":""}`:""}
const COLUMNS=["Replica","State","Requests","Process","Age"],OPEN_SERVED=3;
function drawServed({served:s=[]},g,l,b){const M=s.map((t,ab)=>{const e=servedView(t,g,l),_=(ab<OPEN_SERVED)!==b.open.has(e.id),d=h("button",{type:"button",class:"opens","data-act":"group","data-function":e.id,"aria-expanded":String(_)},h("span",{"aria-hidden":"true"},_?"▾ ":"▸ "),nameOf(e.name));
return h("li",{key:e.id},head(e,b,d,true),_&&h("div",{class:"run"},servedDetails(e)))});
return[h("ul",{class:"runs",key:"served","aria-label":"Applications"},M)]}function drawOneServed(s,g,l,b){const e=servedView(s,g,l);
return[head(e,b,nameOf(e.name),true),h("div",{class:"run",key:"run"},servedDetails(e))]}function servedDetails(e){return[e.why&&h("p",{key:"why",class:e.state==="failed"?"attention":""},e.state==="failed"&&h("strong",{},h("span",{"aria-hidden":"true"},"⚠ "),"Attention: "),e.why),e.url&&e.curl&&h("p",{key:"url"},h("a",{href:e.url,target:"_blank",rel:"noopener"},e.url)," ",h("code",{class:"quiet"},e.curl)),...e.deployments.map(t=>deployment(t)),...e.errors.map(({name:d,words:a4,ago:bI,traceback:b9})=>h("details",{key:`error ${d}`},h("summary",{},h("span",{class:"state failed"},"✕ "),`last error of ${d}, ${bI} ago: ${a4}`),h("pre",{class:"quiet"},b9)))]}function deployment({name:d,words:a4,why:bG,replicas:at,blocked:aK}){return h("div",{key:`of ${d}`},h("p",{},h("strong",{},d),` ${a4}`),bG&&h("p",{class:"quiet"},`◌ ${bG}`),at.length>0&&table(`Replicas of ${d}`,COLUMNS,at.map(({id:j,place:y,state:b,underWay:E,pid:bn,age})=>h("tr",{key:j},cell(y),cell(b),cell(E),cell(bn==null?"":`pid ${bn}`),cell(age)))),aK&&h("pre",{class:"quiet"},aK))}
const WIDTH=280,HEIGHT=136,LEFT=46,FLOOR=HEIGHT-20,TOP=16,RIGHT=10;
function curveShape(i,$){const w=i.points,[a5,af]=[w.map(([p])=>p),w.map(([,F])=>F)],[B,C]=[a5[0],a5[a5.length-1]],[x,z]=[Math.min(...af),Math.max(...af)],aO=isLogarithmic(x,z,i.name),J=aO?Math.log10:c=>c,[Q,X]=[J(x),J(z)],p=I=>round(LEFT+((I-B)/(C-B||1))*(WIDTH-LEFT-RIGHT)),F=c=>round(TOP+(1-(X>Q?(J(c)-Q)/(X-Q):0.5))*(FLOOR-TOP-6)),al=$.filter(({report:I})=>I>=B&&I<=C),H=al.find(bZ=>bZ.best),d=plain(i.name);
return{name:d,isLog:aO,last:reading(af[af.length-1]),line:w.map(([I,c],ab)=>`${ab?"L":"M"}${p(I)} ${F(c)}`).join(""),end:{x:p(C),y:F(af[af.length-1])},levels:(aO?logTicks(x,z):ticks(x,z)).map(c=>({y:F(c),label:reading(c)})),reports:ticks(B,C).filter(Number.isInteger).map(c=>({x:p(c),label:String(c)})),marks:al.map(({report:I})=>p(I)),best:H?p(H.report):null,words:[`${d} over ${count(C-B+1,"report")}: from ${reading(af[0])} to ${reading(af[af.length-1])}`,`between ${reading(x)} and ${reading(z)}${aO?" on a logarithmic axis":""}`,al.length?count(al.length,"checkpoint"):"",H?`the best one at report ${H.report}`:""].filter(Boolean).join(", ")}}function round(aG){return Math.round(aG*10)/10}function drawCurves(az,G){if(!az.length)return null;
return h("div",{class:"curves",key:"curves"},az.map(i=>drawCurve(i,G)))}function drawCurve(i,G){return h("figure",{key:i.name,class:"curve"},h("figcaption",{class:"line"},h("span",{class:"name cut",title:i.name},i.name),i.isLog&&h("span",{class:"quiet small"},"log scale"),h("span",{class:"last"},i.last)),h("svg",{viewBox:`0 0 ${WIDTH} ${HEIGHT}`,role:"img","aria-label":i.words},i.levels.map(({y:F,label:n})=>h("g",{key:n},h("path",{d:`M${LEFT} ${F}H${WIDTH}`,class:"level"}),h("text",{x:LEFT-5,y:F+4,"text-anchor":"end"},n))),i.reports.map(({x:p,label:n})=>h("text",{key:`at ${n}`,x:p,y:HEIGHT-5,"text-anchor":"middle"},n)),i.marks.length>0&&h("path",{class:"marks",d:i.marks.map(p=>`M${p} ${FLOOR}v-6`).join("")}),i.best!=null&&h("path",{class:"best",d:`M${i.best} ${FLOOR}V14`}),i.best!=null&&h("text",{class:"star",x:i.best,y:11,"text-anchor":"middle"},"★"),h("path",{class:`curve-line c${G}`,d:i.line}),h("circle",{class:`curve-end c${G}`,cx:i.end.x,cy:i.end.y,r:2.5})))}
const UNDER_WAY=["waiting","running","stopping","restarting"],SIGNS={waiting:"◌",restarting:"◌",running:"●",stopping:"●",finished:"✓",returned:"✓",stopped:"⊘",failed:"✕"};
const METRICS=4;
function isUnderWay(a){return UNDER_WAY.includes(a.state??"waiting")}function runView(a,g,l){const E=isUnderWay(a),b=E&&l?"ended with it":(a.state??"waiting"),ar=a.ranks??[],az=a.curves??[],$=a.checkpoints??[],H=$.some(t=>t.best),K=Math.min(a.stops??0,STOPS.length-1);
return{id:a.id,name:plain(a.name),owner:plain(a.owner),state:b,sign:b==="ended with it"?"–":signOf(b),colour:a.hue*PALETTE.hues[0].length,underWay:E&&!l,time:timeWords(a,g),progress:progressWords(a),gang:ar.length?gangWords(a):"",metrics:metricWords(a),ranks:ar.map(A=>rankView(A,a)),rankCounts:rankCounts(a),curves:az.filter(i=>i.points.length>1).map(i=>curveShape(i,$)),checkpoints:checkpointWords(a),marked:H&&az.length>0,load:a.load??"",loads:H?"Load the best one:":"Load the newest one:",path:plain(a.path),why:plain(a.why),resume:E&&!l?"":resumeWords(a,b),stop:E&&!l?{label:STOPS[K],about:STEPS[K],order:`${a.id}/${a.stops??0}`}:null}}function signOf(b){return SIGNS[b]??"◌"}function rankView(A,a){const b=A.state??"waiting",I=A.report==null?"":`report ${A.report}`,aX=[b,I,deviceWords(A.devices),A.pid?`pid ${A.pid}`:"",plain(A.node)];
return{rank:A.rank,state:b,sign:signOf(b),colour:a.hue*PALETTE.hues[0].length+(A.rank%PALETTE.hues[0].length),report:I,title:`rank ${A.rank}: ${aX.filter(Boolean).join(", ")}`}}function gangWords(a){const aD={};
for(const A of a.ranks??[]){for(const[bs,aE]of Object.entries(A.devices??{}))aD[bs]=[...new Set([...(aD[bs]??[]),...aE])]}
const aw=count(Math.max(a.workers??0,(a.ranks??[]).length),"worker"),aL=deviceWords(aD),t=Object.keys(a.each??{}).length?`${aw} with ${demandWords(a.each)} each`:aw;
return[aL?`${aw} on ${aL}`:t,a.backend].filter(Boolean).join(" · ")}function progressWords(a){const known=a.epochs!=null&&a.epochs_done!=null,bT=known?`${amount(a.epochs_done??0)} of ${count(a.epochs??0,"epoch")}`:a.epoch==null?"":`epoch ${amount(a.epoch)}`,ap=a.left_s!=null&&isUnderWay(a)?`about ${age(a.left_s)} left`:"";
return[bT,ap,a.reports?count(a.reports,"report"):"no report yet"].filter(Boolean).join(" · ")}function timeWords(a,g){return a.started_at?age((a.ended_at??g)-a.started_at):""}function metricWords(a){return(a.curves??[]).slice(0,METRICS).map(({name:d,points:w})=>`${plain(d)} ${reading(w[w.length-1][1])}`).join(", ")}function checkpointWords({checkpoints:$=[],kept:ao=0}){const H=$.find(t=>t.best),b_=H?`best ${plain(H.name)}`:`newest ${plain($.at(-1)?.name)}`;
return $.length?`${count(Math.max(ao,$.length),"checkpoint")}, ${b_}`:""}function rankCounts({ranks:ar=[],workers:aw=0}){const aa=new Map();
for(const{state:b="waiting"}of ar)aa.set(b,(aa.get(b)??0)+1);
const a$=aw>ar.length?[`and ${aw-ar.length} more`]:[];
return[...[...aa].map(([b,aG])=>`${aG} ${b}`),...a$].join(", ")}function resumeWords(a,b){if(b==="finished")return"";
const bh=(a.checkpoints??[]).at(-1)?.name;
return`Resume: run the cell again; a run of the same name goes on from ${bh?plain(bh):"its beginning, since it has no checkpoint"}`}
const OPEN_AT_FIRST=2;
function drawRuns(v,g,l,b){const E=v.runs.filter(isUnderWay).slice(0,OPEN_AT_FIRST),B=new Set((E.length?E:v.runs.slice(0,1)).map(a=>a.id)),M=v.runs.map(a=>{const e=runView(a,g,l);
return drawRun(e,b,B.has(a.id)!==b.open.has(e.id))});
return[M.length>0&&h("ul",{class:"runs",key:"runs","aria-label":"Training runs"},M),Boolean(v.more)&&h("p",{class:"quiet",key:"more"},`and ${count(v.more??0,"more run")}`)]}function drawOneRun(v,g,l,b){const a=runView(v,g,l);
return[head(a,b,nameOf(a.name),false),h("div",{class:"run",key:"run"},details(a))]}function drawBrief(v,g,l,b){if(l)return[];
const T=(v.experiments??[]).filter(goesOn).map(m=>experimentView(m,g,false)),s=(v.served??[]).filter(isServed).map(t=>servedView(t,g,false)),am=[...T,...v.runs.filter(isUnderWay).map(a=>runView(a,g,false)),...s];
if(!am.length)return[];
return[h("ul",{class:"runs",key:"runs","aria-label":s.length?"Runs and applications under way":"Runs under way"},am.map(a=>h("li",{key:a.id},head(a,b,nameOf(a.name),true))))]}function drawRun(a,b,_){const d=h("button",{type:"button",class:"opens","data-act":"group","data-function":a.id,"aria-expanded":String(_)},h("span",{"aria-hidden":"true"},_?"▾ ":"▸ "),nameOf(a.name));
return h("li",{key:a.id},head(a,b,d,!_),_&&h("div",{class:"run"},details(a)))}function details(a){return[a.why&&h("p",{key:"why",class:a.state==="failed"?"attention":""},a.state==="failed"&&h("strong",{},h("span",{"aria-hidden":"true"},"⚠ "),"Attention: "),a.why),a.gang&&h("p",{key:"gang"},a.gang),a.ranks.length>0&&h("ul",{key:"ranks",class:"ranks","aria-label":`Ranks: ${a.rankCounts}`},a.ranks.map(drawRank)),drawCurves(a.curves,a.colour),a.checkpoints&&h("p",{key:"checkpoints"},a.marked?`${a.checkpoints}, marked ★`:a.checkpoints),a.load&&empty(a.loads,a.load),h("p",{key:"path",class:"quiet path"},a.path),a.resume&&h("p",{key:"resume",class:"quiet"},a.resume)]}function drawRank(A){const aH=A.state==="running"?` ink c${A.colour}`:"";
return h("li",{key:String(A.rank),title:A.title,class:`state ${A.state}`},h("span",{class:"unseen"},"rank "),String(A.rank)," ",h("span",{class:`sign${aH}`,"aria-hidden":"true"},A.sign),h("span",{class:"unseen"},` ${A.state}`))}
const RUNS_STYLE=`
.nbaccel-cockpit .runs{list-style:none;margin:6px 0 0;padding:0}
.nbaccel-cockpit .runs>li{margin:0;padding:5px 3px}
.nbaccel-cockpit.nbaccel-cockpit .most .runs{flex:1;min-width:0;margin:0}
.nbaccel-cockpit.nbaccel-cockpit .most .runs li+li{display:none}
.nbaccel-cockpit.nbaccel-cockpit .most .runs .line{flex-wrap:nowrap}
.nbaccel-cockpit.nbaccel-cockpit .most .runs .cut{flex:none}
.nbaccel-cockpit .runs>li+li{border-top:1px solid color-mix(in srgb,var(--line) 55%,transparent)}
.nbaccel-cockpit .head{align-items:center}
.nbaccel-cockpit .head .facts{flex:1 1 14em;min-width:0;overflow-wrap:anywhere}
.nbaccel-cockpit .run{padding:2px 0 4px 16px}
.nbaccel-cockpit .run p,.nbaccel-cockpit .run details{margin:4px 0;overflow-wrap:anywhere}
.nbaccel-cockpit .run code{overflow-wrap:anywhere;white-space:normal}
.nbaccel-cockpit .attention{padding-left:8px;border-left:4px solid ${PALETTE.attention}}
.nbaccel-cockpit .ranks{display:flex;flex-wrap:wrap;gap:2px 14px;list-style:none;margin:4px 0;padding:0}
.nbaccel-cockpit .ranks li{margin:0;min-width:2.6em;white-space:nowrap;position:relative}
.nbaccel-cockpit .curves{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(230px,100%),1fr));gap:8px 16px;margin:8px 0}
.nbaccel-cockpit .curve{margin:0;min-width:0;max-width:320px}
.nbaccel-cockpit .curve figcaption{margin:0;padding:0;font:inherit;color:inherit;text-align:left;justify-content:space-between;flex-wrap:nowrap;padding-right:10px}
.nbaccel-cockpit .curve .name{min-width:0;max-width:none}
.nbaccel-cockpit .curve svg{display:block;width:100%;height:auto}
.nbaccel-cockpit .curve text{font-size:11px;fill:var(--quiet);paint-order:stroke;stroke:var(--ground);stroke-width:3px}
.nbaccel-cockpit .curve .star{fill:var(--ink);font-size:12px}
.nbaccel-cockpit .curve .level{stroke:var(--line);stroke-width:1;fill:none}
.nbaccel-cockpit .curve .marks{stroke:var(--quiet);stroke-width:1.5;fill:none}
.nbaccel-cockpit .curve .best{stroke:var(--quiet);stroke-width:1;stroke-dasharray:3 3;fill:none}
.nbaccel-cockpit .curve .curve-line{stroke:var(--c);stroke-width:2;stroke-linejoin:round;fill:none;background:none}
.nbaccel-cockpit .curve.wide{max-width:720px;margin-top:8px}
.nbaccel-cockpit .curve.wide figcaption{justify-content:flex-start;flex-wrap:wrap}
.nbaccel-cockpit .curve .other{stroke:var(--quiet);stroke-width:1;opacity:.3;fill:none}
.nbaccel-cockpit .curve .front{stroke:var(--c);stroke-width:1.2;opacity:.6;fill:none;background:none}
.nbaccel-cockpit .curve .dots{stroke:var(--c);stroke-width:5;stroke-linecap:round;opacity:.55;fill:none;background:none}
.nbaccel-cockpit .curve .axis-line{stroke:var(--edge);stroke-width:1;fill:none}
.nbaccel-cockpit .curve .axis-name{fill:var(--ink);font-weight:600}
.nbaccel-cockpit.nbaccel-cockpit td.trend{min-width:64px;max-width:90px;box-shadow:none}
@container (max-width:700px){.nbaccel-cockpit .run{padding-left:4px}.nbaccel-cockpit .head .facts{order:3;flex-basis:100%}}
@media (forced-colors:active){.nbaccel-cockpit .curve text,.nbaccel-cockpit .curve .star{fill:CanvasText}
.nbaccel-cockpit .curve path{stroke:CanvasText}.nbaccel-cockpit .curve .curve-line{stroke:Highlight}.nbaccel-cockpit .curve .curve-end{fill:Highlight}
.nbaccel-cockpit .attention{border-color:CanvasText}}
`.replaceAll(".nbaccel-cockpit",".nbaccel-cockpit.nbaccel-cockpit");
function viewOfRuns(aT){const M=a=>({...a,ranks:rowsOf(a.ranks),checkpoints:rowsOf(a.checkpoints)}),v={...aT,runs:(aT.runs??[]).map(M),experiments:aT.experiments??[],served:aT.served??[]};
const au=h("style",{key:"look of runs"},RUNS_STYLE),e=(g,l,ad)=>({tabs:tabsOf(v,l),views:{runs:b=>[au,...drawExperiments(v,g,l,b,ad),...drawRuns(v,g,l,b)],serving:b=>[au,...drawServed(v,g,l,b)]},brief(b){const Z=drawBrief(v,g,l,b);
return Z.length?[au,...Z]:[]},only(b){const[a,m]=[v.runs.find(({id:j})=>j===b.only),v.experiments?.find(({id:j})=>j===b.only)],s=v.served?.find(({id:j})=>j===b.only);
if(a)return[au,...drawOneRun(a,g,l,b)];
if(s)return[au,...drawOneServed(s,g,l,b)];
return m?[au,...drawExperiment(m,g,l,b,ad)]:[]}});
e.open=b=>(b.only?(v.experiments??[]).map(({id:j})=>j).filter(j=>j===b.only):openExperiments(v,b));
return e}function tabsOf({runs:am,experiments:T=[],served:s=[]},l){const bB=(j,n,bH)=>({id:j,label:n,badge:l?0:bH,urgent:false});
return[...(am.length||T.length?[bB("runs","Runs",am.filter(isUnderWay).length+T.filter(goesOn).length)]:[]),...(s.length?[bB("serving","Serving",s.filter(isServed).length)]:[])]}
return viewOfRuns}
