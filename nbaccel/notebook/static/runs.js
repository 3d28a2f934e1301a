// A part of nbaccel's cockpit, joined from nbaccel/notebook/runs/ by tools/join_cockpit.py. Change it there.
export default function(bx){const{PALETTE,age,amount,button,cell,count,demandWords,deviceWords,duration,empty,h,inSight,nameOf,plain,rowsOf,table}=bx;
const LOSS_LOG_FROM=10,
LOG_FROM=100;
function ticks(v,w,count=4){if(!(w>v))return[v];
const a9=(w-v)/count,
R=10**Math.floor(Math.log10(a9)),
J=R*([1,2,5,10].find(N=>R*N>=a9*0.999)??10),
ai=[];
for(let x=Math.ceil(v/J-1e-9);x<=Math.floor(w/J+1e-9);x++)ai.push(Number((x*J).toPrecision(12)));
return ai}
function logTicks(v,w){const[z,A]=[Math.ceil(Math.log10(v)-1e-9),Math.floor(Math.log10(w)+1e-9)],
J=Math.max(1,Math.ceil((A-z)/4)),
aj=[];
for(let R=z;R<=A;R+=J)aj.push(10**R);
if(aj.length>2)return aj;
const bv=aj.length?[aj[0]/10,...aj]:[10**A];
return bv.flatMap(R=>[R,3*R]).filter(N=>N>=v*(1-1e-9)&&N<=w*(1+1e-9))}
function isLogarithmic(v,w,d=""){return v>0&&w/v>(/loss/i.test(d)?LOSS_LOG_FROM:LOG_FROM)}
function reading(b){const be=Math.abs(b);
if(be>=1e4&&be<1e9)return b.toFixed(0);
const[bm,R]=b.toExponential(3).split("e"),
aw=Number(R);
if(!b||(aw>=-4&&aw<4))return String(Number(b.toPrecision(4)));
return`${Number(bm)}e${aw<0?"-":"+"}${String(Math.abs(aw)).padStart(2,"0")}`}
const LETTERS="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
WITHOUT_VALUE={running:0,pending:1,done:2,stopped:3,error:4};
const known=new WeakMap();
function trialsOf(j,s){const af=known.get(s);
if(af)return af;
const i=[...s.rows].map(([n,k])=>trialOf(n,k)),
a2={trials:bestFirst(i,j.mode??""),names:varying(i),failures:failuresOf(i)};
known.set(s,a2);
return a2}
function shortTrial(n){return plain(n.split("_").at(-1))}
function trialOf(n,k){return{id:n,short:shortTrial(n),row:k,state:k.state??"pending",params:flat(k.config??{}),value:typeof k.value==="number"?k.value:null,points:pointsOf(k)}}
function bestFirst(i,aK){const aN=aK==="max"?-1:1,
x=g=>(g.value!=null&&aK?-1:(WITHOUT_VALUE[g.state]??5));
return[...i].sort((_,$)=>{if(!aK)return _.row.number-$.row.number;
const z=x(_)-x($);
if(z||_.value==null||$.value==null)return z||_.row.number-$.row.number;
return aN*(_.value-$.value)||_.row.number-$.row.number})}
function flat(bj,a7=""){const P={};
for(const[d,b]of Object.entries(bj)){const bw=b&&typeof b==="object"&&!Array.isArray(b)&&Object.keys(b).length;
if(bw)Object.assign(P,flat(b,`${a7}${d}/`));
else P[a7+d]=b}
return P}
function varying(i){const Y=new Map();
for(const{params:G}of i)for(const d of Object.keys(G))Y.set(d,new Set());
for(const{params:G}of i)for(const[d,aC]of Y)if(aC.size<2)aC.add(JSON.stringify(G[d])??"");
return[...Y].filter(([,aC])=>i.length<2||aC.size>1).map(([d])=>d)}
function failuresOf(i){const aH=new Map();
for(const g of i){const ad=plain(g.row.error);
if(!ad)continue;
const a$=aH.get(ad)??{error:ad,trials:[]};
a$.trials.push(g);
aH.set(ad,a$)}
return[...aH.values()].sort((_,$)=>$.trials.length-_.trials.length)}
function pointsOf({curve:f}){if(!f)return[];
const[v,w]=f.log?[Math.log10(f.low),Math.log10(f.high)]:[f.low,f.high],
ai=Math.max(1,f.letters.length-1),
r=[];
[...f.letters].forEach((bs,x)=>{const a5=LETTERS.indexOf(bs),
F=v+((w-v)*a5)/63,
b=f.log?10**F:F;
if(a5>=0)r.push([Math.round(f.first+((f.last-f.first)*x)/ai),b])});
return r}
function paramWords(b){if(b===undefined)return"";
if(typeof b==="number"&&!Number.isInteger(b))return reading(b);
return plain(typeof b==="string"?b:pythonOf(b))}
function pythonOf(b){if(b===null||b===undefined)return"None";
if(b===true||b===false)return b?"True":"False";
if(Array.isArray(b))return`[${b.map(pythonOf).join(", ")}]`;
if(typeof b==="object")return`{${Object.entries(b).map(([d,N])=>`${JSON.stringify(d)}: ${pythonOf(N)}`).join(", ")}}`;
return typeof b==="string"?JSON.stringify(b):String(b)}
const WIDE=560,
TALL=200,
SMALL={width:220,height:150};
const MARGIN=52,
BELOW=22,
CEILING=10,
IN_FRONT=8,
MOST_LINES=300,
MOST_AXES=6,
AXIS_ROOM=66,
MOST_WORDS=10;
function rounded(aq){return Math.round(aq*10)/10}
function scaleOf(Y,L,S,d){let[v,w]=[Infinity,-Infinity];
for(const b of Y)[v,w]=[Math.min(v,b),Math.max(w,b)];
const ap=isLogarithmic(v,w,d),
F=ap?Math.log10:b=>b,
[z,A]=[F(v),F(w)],
O=b=>rounded(L+(A>z?(F(b)-z)/(A-z):0.5)*(S-L)),
bD=Y.every(Number.isInteger),
ai=ap?logTicks(v,w):ticks(v,w).filter(N=>!bD||Number.isInteger(N));
return{at:O,log:ap,levels:ai.map(b=>({y:O(b),label:reading(b)}))}}
function layers(U){return{best:U[0]??"",front:U.slice(1,1+IN_FRONT),others:U.slice(1+IN_FRONT).join("")}}
function overlaidShape(i,o,T=WIDE){const B=i.filter(({points:r})=>r.length>1).slice(0,MOST_LINES);
if(!B.length)return null;
const aX=B.flatMap(({points:r})=>r),
ac=scaleOf([0,1],MARGIN,T-10),
A=aX.reduce((W,[q])=>Math.max(W,q),1),
q=E=>ac.at(E/A),
{at:O,log:ap,levels:Q}=scaleOf(aX.map(([,b])=>b),TALL-BELOW,CEILING,o);
const U=B.map(({points:r})=>r.map(([E,b],ae)=>`${ae?"L":"M"}${q(E)} ${O(b)}`).join("")),
aJ=i.length-B.length;
return{...layers(U),wide:T,levels:Q,log:ap,reports:ticks(0,A).filter(Number.isInteger).map(E=>({x:q(E),label:String(E)})),words:`${plain(o)} over ${count(A+1,"report")} of ${count(B.length,"trial")}, the best in front: ${B[0].short}, ${lastWords(B[0])}`,left:aJ}}
function lastWords({value:b,points:r}){return`now ${reading(b??r[r.length-1][1])}`}
function axisOf(d,Y,L,S){const aO=Y.filter(b=>b!==undefined&&b!==null);
if(aO.length&&aO.every(b=>typeof b==="number"&&Number.isFinite(b))){const{at:O,levels:Q}=scaleOf(aO,L,S,d);
return{name:plain(d),at:b=>(typeof b==="number"?O(b):null),levels:Q}}
const av=[...new Set(Y.map(paramWords))].sort();
if(av.length>MOST_WORDS)return null;
const{at:O}=scaleOf([0,Math.max(1,av.length-1)],L,S);
const Q=av.map((l,x)=>({y:O(x),label:l.length>10?`${l.slice(0,9)}…`:l}));
return{name:plain(d),at:b=>O(av.indexOf(paramWords(b))),levels:Q}}
function parallelShape(i,I,o,T=WIDE){const B=i.filter(({value:b})=>b!=null).slice(0,MOST_LINES),
[L,S]=[TALL-8,26],
W=Math.min(MOST_AXES,Math.floor((T-MARGIN-24)/AXIS_ROOM)),
s=I.slice(0,W).map(d=>({name:d,axis:axisOf(d,B.map(({params:G})=>G[d]),L,S)})),
aP=s.filter(({axis:am})=>am);
if(B.length<2||!aP.length)return null;
const a0=[...aP.map(({name:d,axis:am})=>g=>am?.at(g.params[d])??null)],
A=(axisOf(o,B.map(({value:b})=>b),L,S));
a0.push(g=>A.at(g.value));
const aF=[...aP.map(({axis:am})=>(am)),A],
aT=(T-MARGIN-24)/(aF.length-1),
q=x=>rounded(MARGIN+x*aT),
U=B.map(g=>{const r=a0.map((F,x)=>({x:q(x),y:F(g)})).filter(({y:C})=>C!=null);
return r.map((a6,ae)=>`${ae?"L":"M"}${a6.x} ${a6.y}`).join("")});
return{...layers(U),wide:T,axes:aF.map(({name:d,levels:Q},x)=>({name:cutTo(Math.floor(aT/8),d),x:q(x),levels:Q})),bottom:L,top:S,words:`Parallel coordinates of ${count(B.length,"trial")}: ${aF.map(({name:d})=>d).join(", ")}; the best in front: ${wordsOfBest(B[0],I,o)}`}}
function cutTo(W,al){return al.length>W?`${al.slice(0,W-1)}…`:al}
function wordsOfBest({params:G,value:b},I,o){const ab=I.slice(0,MOST_AXES).map(d=>`${plain(d)} ${paramWords(G[d])}`);
return[...ab,`${plain(o)} ${reading(b??0)}`].join(", ")}
function scatterShape(i,d,o){const B=i.filter(({value:b,params:G})=>b!=null&&G[d]!==undefined),
{width:aE,height:F}=SMALL;
const ac=B.length>1?axisOf(d,B.map(({params:G})=>G[d]),MARGIN,aE-14):null;
if(!ac)return null;
const{at:O,levels:Q}=scaleOf(B.map(({value:b})=>b??0),F-BELOW,CEILING+8,o);
const[H,...aB]=B.map(({params:G,value:b})=>({x:ac.at(G[d])??MARGIN,y:O(b??0)}));
return{name:plain(d),best:H,others:aB.map(aV=>`M${aV.x} ${aV.y}h0`).join(""),levels:Q,below:ac.levels.map(({y:C,label:l})=>({x:C,label:l})),words:`${plain(o)} against ${plain(d)} of ${count(B.length,"trial")}, the best at ${paramWords(B[0].params[d])}`}}
function scatterShapes(i,I,o){return I.slice(0,MOST_AXES).map(d=>scatterShape(i,d,o)).filter(p=>p!==null)}
function sparkPath({points:r}){if(r.length<2)return"";
const bn=scaleOf(r.map(([,b])=>b),15,1),
ac=scaleOf([r[0][0],r[r.length-1][0]],0,64),
bt=q=>rounded(((q-r[0][0])/(r[r.length-1][0]-r[0][0]||1))*64);
return ac&&r.map(([q,b],ae)=>`${ae?"L":"M"}${bt(q)} ${bn.at(b)}`).join("")}
function drawLayers({best:H,front:bq,others:aB},D){return[aB&&h("path",{key:"others",class:"other",d:aB}),...bq.map((bk,x)=>h("path",{key:`front ${x}`,class:`front c${D}`,d:bk})).reverse(),h("path",{key:"best",class:`curve-line c${D}`,d:H})]}
function drawOverlaid(p,o,D){return h("figure",{key:"overlaid",class:"curve wide"},h("figcaption",{class:"line"},h("span",{class:"name cut"},o),h("span",{class:"quiet"},`over reports, the best in front${p.log?", log scale":""}`)),h("svg",{viewBox:`0 0 ${p.wide} ${TALL}`,role:"img","aria-label":p.words},p.levels.map(({y:C,label:l})=>h("g",{key:l},h("path",{d:`M52 ${C}H${p.wide}`,class:"level"}),h("text",{x:47,y:C+4,"text-anchor":"end"},l))),p.reports.map(({x:q,label:l})=>h("text",{key:`at ${l}`,x:q,y:TALL-5,"text-anchor":"middle"},l)),drawLayers(p,D)))}
function drawParallel(p,D){return h("figure",{key:"parallel",class:"curve wide"},h("figcaption",{class:"line"},h("span",{class:"name"},"Parameters"),h("span",{class:"quiet"},"and what came of them, the best in front")),h("svg",{viewBox:`0 0 ${p.wide} ${TALL}`,role:"img","aria-label":p.words},drawLayers(p,D),p.axes.map(({name:d,x:q,levels:Q},x)=>h("g",{key:d},h("path",{class:"axis-line",d:`M${q} ${p.top}V${p.bottom}`}),h("text",{class:"axis-name",x:x?q:q-40,y:14,"text-anchor":x===0?"start":x===p.axes.length-1?"end":"middle",...(x===p.axes.length-1?{x:p.wide}:{})},d),Q.map(({y:C,label:l})=>h("text",{key:l,x:q-5,y:C+4,"text-anchor":"end"},l))))))}
function drawScatter(p,D){const{width:aE,height:F}=SMALL;
return h("figure",{key:`against ${p.name}`,class:"curve"},h("figcaption",{class:"line"},h("span",{class:"name cut",title:p.name},p.name)),h("svg",{viewBox:`0 0 ${aE} ${F}`,role:"img","aria-label":p.words},p.levels.map(({y:C,label:l})=>h("g",{key:l},h("path",{d:`M52 ${C}H${aE}`,class:"level"}),h("text",{x:47,y:C+4,"text-anchor":"end"},l))),p.below.map(({x:q,label:l})=>h("text",{key:`at ${l}`,x:q,y:F-5,"text-anchor":"middle"},l)),h("path",{class:`dots c${D}`,d:p.others}),h("circle",{class:`curve-end c${D}`,cx:p.best.x,cy:p.best.y,r:3.5}),h("text",{class:"star",x:p.best.x,y:p.best.y-6,"text-anchor":"middle"},"★")))}
const STOPS=["Stop","Interrupt","Kill"],
STEPS=["after its next report","now, with KeyboardInterrupt","at once, by ending its processes"];
function stopButton(a,c){if(!a.stop)return null;
const{label:l,about:m,order:aL}=a.stop;
const ao={"data-id":aL,"data-name":a.name};
if(c.asked.has(aL))return button("asked…",{...ao,class:"aside","aria-label":`${l} ${a.name}`,disabled:true});
const bf=`${l} ${a.name} ${m}`;
if(!a.owner)return button(l,{...ao,class:"aside","data-act":"cancel-run","aria-label":`${l} ${a.name}`,title:bf});
if(c.doubted!==aL){return button(`${l}…`,{...ao,class:"aside","data-act":"doubt","data-owner":a.owner,"aria-label":`${l} ${a.name} of ${a.owner}`,title:bf})}
return h("span",{class:"ask nowrap aside"},button("Keep",{...ao,"data-act":"keep","aria-label":`Keep ${a.name} of ${a.owner}`})," ",button(`${l} it`,{...ao,"data-act":"cancel-run",class:"urgent","aria-label":`${l} ${a.name} of ${a.owner} all the same`}))}
const TRIAL_SIGNS={pending:"◌",running:"●",done:"✓",stopped:"⊘",error:"✕",interrupted:"⊘"};
const MOST_COLUMNS=5,
MOST_NAMED=3,
orders=new Map();
function drawTrials(m,M){if(!M?.rows.size)return[m.view.underWay&&empty("Asking for the trials …")];
const P=trialsOf(m.experiment,M),
o=m.experiment.shown||m.experiment.metric||"",
T=Math.min(WIDE,m.state.room-24),
a3=o?overlaidShape(P.trials,o,T):null;
return[...drawFailures(P),tableOf(P,o,m),a3&&drawOverlaid(a3,plain(o),m.view.colour),...(m.view.underWay?[]:drawEnd(P,o,m.view.colour,T))]}
function drawEnd({trials:i,names:I},o,D,T){const a4=parallelShape(i,I,o,T),
bc=scatterShapes(i,I,o);
return[a4&&drawParallel(a4,D),bc.length>0&&h("div",{key:"scatters",class:"curves",role:"group","aria-label":`${plain(o)} against each parameter`},bc.map(p=>drawScatter(p,D)))]}
function drawFailures({failures:aZ}){if(!aZ.length)return[];
const az=({error:ad,trials:i})=>{const bC=i.slice(0,MOST_NAMED).map(({short:ak})=>ak).join(", ")+(i.length>MOST_NAMED?", …":"");
return h("li",{key:ad},h("span",{class:"state failed"},h("span",{class:"sign","aria-hidden":"true"},"✕"),` ${count(i.length,"trial")} failed: `),ad," ",h("span",{class:"quiet"},bC))};
return[h("ul",{key:"failures",class:"lines","aria-label":"Failures"},aZ.map(az))]}
function tableOf(P,o,m){const{id:n,name:d}=m.view;
const I=P.names.slice(0,MOST_COLUMNS),
i=inOrder(P.trials,m),
ag={device:i.some(g=>deviceOf(g,m)),why:i.some(({row:k})=>k.waits)};
const bi=["Trial","State",...I.map(plain),...(o?[plain(o),"Curve"]:[]),...(ag.device?["Device"]:[]),"Took",...(ag.why?["Why"]:[]),""],
bd=m.state.sights.get(n)??{top:0,height:460,row:33};
const{first:z,last:A}=inSight(i.length,bd);
const M=i.slice(z,A).map(g=>drawRow(g,I,o,ag,m)),
a_=(bB,ba)=>ba>0&&h("tr",{key:bB,class:"gap","aria-hidden":"true",style:`height:${Math.round(ba*bd.row)}px`}),
by=([a_("above",z),...M,a_("below",i.length-A)].filter(Boolean));
return table(`Trials of ${d}`,bi,by,{rows:i.length,sight:n})}
function inOrder(i,{view:e,state:c}){const af=c.heldSight===e.id?orders.get(e.id):null;
if(!af){orders.set(e.id,i);
return i}
const t=new Map(i.map(g=>[g.id,g])),
bz=af.map(({id:n})=>t.get(n)).filter(g=>g!==undefined),
known=new Set(af.map(({id:n})=>n));
return[...bz,...i.filter(({id:n})=>!known.has(n))]}
function drawRow(g,I,o,ag,m){const{row:k}=g;
const c=trialState(g,m),
ar=c==="running"?` ink c${m.view.colour}`:"",
ab=g.value!=null?reading(g.value):plain(k.value==null?"":String(k.value)),
az=sparkPath(g),
bl=deviceOf(g,m);
return h("tr",{key:g.id,"data-trial":g.id},h("th",{scope:"row",title:plain(g.id)},h("span",{class:"name"},g.short)),h("td",{class:`nowrap state ${c==="error"?"failed":c==="pending"?"waiting":c}`},h("span",{class:`sign${ar}`,"aria-hidden":"true"},TRIAL_SIGNS[c]??"◌"),` ${k.waits&&m.view.underWay?"waiting":c}`),I.map(d=>h("td",{key:d,class:"nowrap","data-head":plain(d)},h("span",{class:"cut",title:paramWords(g.params[d])},paramWords(g.params[d])))),o&&h("td",{class:"nowrap","data-head":plain(o)},ab),o&&h("td",{class:"trend"},az&&h("svg",{class:"spark",viewBox:"0 0 64 16",preserveAspectRatio:"none",role:"img","aria-label":`${count(k.reports??0,"report")}`},h("path",{d:az}))),ag.device&&cell(bl,"nowrap"),cell(tookWords(g,m),"nowrap"),ag.why&&cell(whyOf(g,m),"why"),cell([stopButton(stoppable(g,m),m.state),copyButton(g)],"acts"))}
function trialState({row:k,state:c},{view:e}){return!e.underWay&&k.started_at&&["running","pending"].includes(c)?"interrupted":c}
function deviceOf(g,m){return trialState(g,m)==="interrupted"?"":deviceWords(g.row.devices)}
function tookWords({row:k,state:c},{view:e,experiment:j,now:t}){if(!k.started_at)return"";
const aW=k.ended_at??(e.underWay?null:j.ended_at);
if(aW)return duration(aW-k.started_at);
return c==="running"&&e.underWay?age(t-k.started_at):""}
function whyOf({id:n,row:k},{view:e,whys:aQ}){if(!k.waits||!e.underWay)return"";
return aQ.get(`${e.name} ${plain(n)}`)??"its process is being started"}
function stoppable({id:n,short:ak,row:k,state:c},{view:e}){const J=Math.min(k.stops??0,STOPS.length-1),
bo=e.underWay&&(c==="running"||c==="pending"),
m=c==="pending"?"before it begins":STEPS[J];
return{name:`trial ${ak}`,owner:e.owner,stop:bo?{label:STOPS[J],about:m,order:`${e.id}/${k.stops??0}/${n}`}:null}}
function copyButton({short:ak,row:k}){const al=pythonOf(k.config??{});
return button("Config",{"data-act":"copy","data-text":al,"data-name":`the config of trial ${ak}`,"aria-label":`Copy the config of trial ${ak}`,title:`Copy ${plain(al)}`})}
const EXPERIMENT_SIGNS={running:"●",stopping:"●",finished:"✓",stopped:"⊘",failed:"✕"};
const MOST_PARAMETERS=4;
function goesOn(j){return["running","stopping"].includes(j.state??"running")}
function experimentView(j,t,u){const K=goesOn(j)&&!u,
c=goesOn(j)&&u?"ended with it":(j.state??"running"),
J=Math.min(j.stops??0,STOPS.length-1);
return{id:j.id,name:plain(j.name),owner:plain(j.owner),state:c,sign:c==="ended with it"?"–":(EXPERIMENT_SIGNS[c]??"◌"),colour:j.hue*PALETTE.hues[0].length,underWay:K,time:j.started_at?age((j.ended_at??t)-j.started_at):"",progress:trialWords(j),metrics:bestWords(j),best:bestWords(j,Infinity),why:plain(j.why),path:plain(j.path),goOn:K||c==="finished"?"":`tune.Tuner.restore(${JSON.stringify(j.path)}, trainable)`,stop:K?{label:STOPS[J],about:STEPS[J],order:`${j.id}/${j.stops??0}`}:null}}
function trialWords({counts:V={},total:bg}){const u=["done","stopped","error"].reduce((bA,c)=>bA+(V[c]??0),0),
ab=bg==null?`${count(u,"trial")} ended`:`${u} of ${count(bg,"trial")} ended`;
return[ab,V.running?`${V.running} running`:"",V.error?`${V.error} failed`:""].filter(Boolean).join(" · ")}
function bestWords({best:H,metric:o},W=MOST_PARAMETERS){if(!H)return"";
const G=Object.entries(H.config).map(([d,b])=>`${plain(d)} ${plain(b)}`),
ab=G.slice(0,W).join(", ")+(G.length>W?", …":"");
return`${plain(o)} ${reading(H.value)}${ab&&` with ${ab}`}`}
function head(a,c,d,bh){const aG=[a.owner,a.time,a.progress,bh&&a.metrics].filter(Boolean).join(" · ");
return h("div",{class:"line head",key:"head"},d,stateOf(a),h("span",{class:"facts quiet"},aG),stopButton(a,c))}
function stateOf({state:c,sign:aN,colour:D}){const ar=c==="running"?` ink c${D}`:"";
return h("span",{class:`nowrap state ${c}`},h("span",{class:`sign${ar}`,"aria-hidden":"true"},aN),` ${c}`)}
function openExperiments({experiments:aa=[]},c){const K=aa.filter(goesOn).slice(0,1),
z=new Set((K.length?K:aa.slice(0,1)).map(({id:n})=>n));
return aa.map(({id:n})=>n).filter(n=>z.has(n)!==c.open.has(n))}
function drawExperiments(s,t,u,c,X){const aa=s.experiments??[];
if(!aa.length)return[];
const ah=new Set(openExperiments(s,c)),
aQ=waitsOf(X),
M=aa.map(j=>{const e=experimentView(j,t,u),
ay=ah.has(e.id),
d=h("button",{type:"button",class:"opens","data-act":"group","data-function":e.id,"aria-expanded":String(ay)},h("span",{"aria-hidden":"true"},ay?"▾ ":"▸ "),nameOf(e.name));
return h("li",{key:e.id},head(e,c,d,!ay),ay&&h("div",{class:"run"},trialDetails({view:e,experiment:j,state:c,now:t,whys:aQ})))});
return[h("ul",{class:"runs",key:"experiments","aria-label":"Experiments"},M)]}
function drawExperiment(j,t,u,c,X){const e=experimentView(j,t,u);
return[head(e,c,nameOf(e.name),false),h("div",{class:"run",key:"run"},trialDetails({view:e,experiment:j,state:c,now:t,whys:waitsOf(X)}))]}
function trialDetails(m){const{view:e,state:c}=m;
const aY=e.state==="failed";
return[e.why&&h("p",{key:"why",class:aY?"attention":""},aY&&h("strong",{},h("span",{"aria-hidden":"true"},"⚠ "),"Attention: "),e.why),e.best&&h("p",{key:"best"},`best: ${e.best} (trial ${shortTrial(m.experiment.best?.id??"")})`),...drawTrials(m,c.past[`rows/${e.id}`]?.data??null),h("p",{key:"path",class:"quiet path"},e.path),e.goOn&&empty("Go on:",e.goOn)]}
function waitsOf(X){const M=(X?.tasks??[]).filter(k=>k.state.startsWith("PENDING"));
return new Map(M.map(k=>[plain(k.name),plain(k.reason==null?k.why:X?.reasons?.[k.reason])]))}
const WIDTH=280,
HEIGHT=136,
LEFT=46,
FLOOR=HEIGHT-20,
TOP=16,
RIGHT=10;
function curveShape(f,an){const r=f.points,
[aS,Z]=[r.map(([q])=>q),r.map(([,C])=>C)],
[z,A]=[aS[0],aS[aS.length-1]],
[v,w]=[Math.min(...Z),Math.max(...Z)],
ax=isLogarithmic(v,w,f.name),
F=ax?Math.log10:b=>b,
[L,S]=[F(v),F(w)],
q=E=>round(LEFT+((E-z)/(A-z||1))*(WIDTH-LEFT-RIGHT)),
C=b=>round(TOP+(1-(S>L?(F(b)-L)/(S-L):0.5))*(FLOOR-TOP-6)),
aA=an.filter(({report:E})=>E>=z&&E<=A),
H=aA.find(bu=>bu.best),
d=plain(f.name);
return{name:d,isLog:ax,last:reading(Z[Z.length-1]),line:r.map(([E,b],ae)=>`${ae?"L":"M"}${q(E)} ${C(b)}`).join(""),end:{x:q(A),y:C(Z[Z.length-1])},levels:(ax?logTicks(v,w):ticks(v,w)).map(b=>({y:C(b),label:reading(b)})),reports:ticks(z,A).filter(Number.isInteger).map(b=>({x:q(b),label:String(b)})),marks:aA.map(({report:E})=>q(E)),best:H?q(H.report):null,words:[`${d} over ${count(A-z+1,"report")}: from ${reading(Z[0])} to ${reading(Z[Z.length-1])}`,`between ${reading(v)} and ${reading(w)}${ax?" on a logarithmic axis":""}`,aA.length?count(aA.length,"checkpoint"):"",H?`the best one at report ${H.report}`:""].filter(Boolean).join(", ")}}
function round(aq){return Math.round(aq*10)/10}
function drawCurves(au,D){if(!au.length)return null;
return h("div",{class:"curves",key:"curves"},au.map(f=>drawCurve(f,D)))}
function drawCurve(f,D){return h("figure",{key:f.name,class:"curve"},h("figcaption",{class:"line"},h("span",{class:"name cut",title:f.name},f.name),f.isLog&&h("span",{class:"quiet small"},"log scale"),h("span",{class:"last"},f.last)),h("svg",{viewBox:`0 0 ${WIDTH} ${HEIGHT}`,role:"img","aria-label":f.words},f.levels.map(({y:C,label:l})=>h("g",{key:l},h("path",{d:`M${LEFT} ${C}H${WIDTH}`,class:"level"}),h("text",{x:LEFT-5,y:C+4,"text-anchor":"end"},l))),f.reports.map(({x:q,label:l})=>h("text",{key:`at ${l}`,x:q,y:HEIGHT-5,"text-anchor":"middle"},l)),f.marks.length>0&&h("path",{class:"marks",d:f.marks.map(q=>`M${q} ${FLOOR}v-6`).join("")}),f.best!=null&&h("path",{class:"best",d:`M${f.best} ${FLOOR}V14`}),f.best!=null&&h("text",{class:"star",x:f.best,y:11,"text-anchor":"middle"},"★"),h("path",{class:`curve-line c${D}`,d:f.line}),h("circle",{class:`curve-end c${D}`,cx:f.end.x,cy:f.end.y,r:2.5})))}
const UNDER_WAY=["waiting","running","stopping","restarting"],
SIGNS={waiting:"◌",restarting:"◌",running:"●",stopping:"●",finished:"✓",returned:"✓",stopped:"⊘",failed:"✕"};
const METRICS=4;
function isUnderWay(a){return UNDER_WAY.includes(a.state??"waiting")}
function runView(a,t,u){const K=isUnderWay(a),
c=K&&u?"ended with it":(a.state??"waiting"),
at=a.ranks??[],
au=a.curves??[],
an=a.checkpoints??[],
H=an.find(N=>N.best)?.name??"",
J=Math.min(a.stops??0,STOPS.length-1);
return{id:a.id,name:plain(a.name),owner:plain(a.owner),state:c,sign:c==="ended with it"?"–":signOf(c),colour:a.hue*PALETTE.hues[0].length,underWay:K&&!u,time:timeWords(a,t),progress:progressWords(a),gang:at.length?gangWords(a):"",metrics:metricWords(a),ranks:at.map(y=>rankView(y,a)),rankCounts:rankCounts(at),curves:au.filter(f=>f.points.length>1).map(f=>curveShape(f,an)),checkpoints:H&&`${count(an.length,"checkpoint")}, best ${plain(H)}`,load:a.load??"",path:plain(a.path),why:plain(a.why),resume:K&&!u?"":resumeWords(a,c),stop:K&&!u?{label:STOPS[J],about:STEPS[J],order:`${a.id}/${a.stops??0}`}:null}}
function signOf(c){return SIGNS[c]??"◌"}
function rankView(y,a){const c=y.state??"waiting",
E=y.report==null?"":`report ${y.report}`,
aG=[c,E,deviceWords(y.devices),y.pid?`pid ${y.pid}`:"",plain(y.node)];
return{rank:y.rank,state:c,sign:signOf(c),colour:a.hue*PALETTE.hues[0].length+(y.rank%PALETTE.hues[0].length),report:E,title:`rank ${y.rank}: ${aG.filter(Boolean).join(", ")}`}}
function gangWords(a){const aI={};
for(const y of a.ranks??[]){for(const[a8,br]of Object.entries(y.devices??{}))aI[a8]=[...new Set([...(aI[a8]??[]),...br])]}
const aR=count((a.ranks??[]).length,"worker"),
aU=deviceWords(aI),
N=Object.keys(a.each??{}).length?`${aR} with ${demandWords(a.each)} each`:aR;
return[aU?`${aR} on ${aU}`:N,a.backend].filter(Boolean).join(" · ")}
function progressWords(a){const known=a.epochs!=null&&a.epochs_done!=null,
bp=known?`${amount(a.epochs_done??0)} of ${count(a.epochs??0,"epoch")}`:a.epoch==null?"":`epoch ${amount(a.epoch)}`,
aJ=a.left_s!=null&&isUnderWay(a)?`about ${age(a.left_s)} left`:"";
return[bp,aJ,a.reports?count(a.reports,"report"):"no report yet"].filter(Boolean).join(" · ")}
function timeWords(a,t){return a.started_at?age((a.ended_at??t)-a.started_at):""}
function metricWords(a){return(a.curves??[]).slice(0,METRICS).map(({name:d,points:r})=>`${plain(d)} ${reading(r[r.length-1][1])}`).join(", ")}
function rankCounts(at){const V=new Map();
for(const{state:c="waiting"}of at)V.set(c,(V.get(c)??0)+1);
return[...V].map(([c,aq])=>`${aq} ${c}`).join(", ")}
function resumeWords(a,c){if(c==="finished")return"";
const a1=(a.checkpoints??[]).at(-1)?.name;
return`Resume: run the cell again; a run of the same name goes on from ${a1?plain(a1):"its beginning, since it has no checkpoint"}`}
const OPEN_AT_FIRST=2;
function drawRuns(s,t,u,c){const K=s.runs.filter(isUnderWay).slice(0,OPEN_AT_FIRST),
z=new Set((K.length?K:s.runs.slice(0,1)).map(a=>a.id)),
M=s.runs.map(a=>{const e=runView(a,t,u);
return drawRun(e,c,z.has(a.id)!==c.open.has(e.id))});
return[M.length>0&&h("ul",{class:"runs",key:"runs","aria-label":"Training runs"},M),Boolean(s.more)&&h("p",{class:"quiet",key:"more"},`and ${count(s.more??0,"more run")}`)]}
function drawOneRun(s,t,u,c){const a=runView(s,t,u);
return[head(a,c,nameOf(a.name),false),h("div",{class:"run",key:"run"},details(a))]}
function drawBrief(s,t,u,c){if(u)return[];
const aa=(s.experiments??[]).filter(goesOn).map(j=>experimentView(j,t,false)),
bb=[...aa,...s.runs.filter(isUnderWay).map(a=>runView(a,t,false))];
if(!bb.length)return[];
return[h("ul",{class:"runs",key:"runs","aria-label":"Runs under way"},bb.map(a=>h("li",{key:a.id},head(a,c,nameOf(a.name),true))))]}
function drawRun(a,c,ah){const d=h("button",{type:"button",class:"opens","data-act":"group","data-function":a.id,"aria-expanded":String(ah)},h("span",{"aria-hidden":"true"},ah?"▾ ":"▸ "),nameOf(a.name));
return h("li",{key:a.id},head(a,c,d,!ah),ah&&h("div",{class:"run"},details(a)))}
function details(a){return[a.why&&h("p",{key:"why",class:a.state==="failed"?"attention":""},a.state==="failed"&&h("strong",{},h("span",{"aria-hidden":"true"},"⚠ "),"Attention: "),a.why),a.gang&&h("p",{key:"gang"},a.gang),a.ranks.length>0&&h("ul",{key:"ranks",class:"ranks","aria-label":`Ranks: ${a.rankCounts}`},a.ranks.map(drawRank)),drawCurves(a.curves,a.colour),a.checkpoints&&h("p",{key:"checkpoints"},a.curves.length?`${a.checkpoints}, marked ★`:a.checkpoints),a.load&&empty("Load the best one:",a.load),h("p",{key:"path",class:"quiet path"},a.path),a.resume&&h("p",{key:"resume",class:"quiet"},a.resume)]}
function drawRank(y){const ar=y.state==="running"?` ink c${y.colour}`:"";
return h("li",{key:String(y.rank),title:y.title,class:`state ${y.state}`},h("span",{class:"unseen"},"rank "),String(y.rank)," ",h("span",{class:`sign${ar}`,"aria-hidden":"true"},y.sign),h("span",{class:"unseen"},` ${y.state}`))}
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
.nbaccel-cockpit .curve.wide figcaption{justify-content:flex-start;flex-wrap:wrap}
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
function viewOfRuns(aM){const M=a=>({...a,ranks:rowsOf(a.ranks),checkpoints:rowsOf(a.checkpoints)}),
s={...aM,runs:(aM.runs??[]).map(M),experiments:aM.experiments??[]};
const aD=h("style",{key:"look of runs"},RUNS_STYLE),
e=(t,u,X)=>({active:u?0:s.runs.filter(isUnderWay).length+(s.experiments??[]).filter(goesOn).length,draw:c=>[aD,...drawExperiments(s,t,u,c,X),...drawRuns(s,t,u,c)],brief(c){const U=drawBrief(s,t,u,c);
return U.length?[aD,...U]:[]},only(c){const[a,j]=[s.runs.find(({id:n})=>n===c.only),s.experiments?.find(({id:n})=>n===c.only)];
if(a)return[aD,...drawOneRun(a,t,u,c)];
return j?[aD,...drawExperiment(j,t,u,c,X)]:[]}});
e.open=c=>(c.only?(s.experiments??[]).map(({id:n})=>n).filter(n=>n===c.only):openExperiments(s,c));
return e}
return viewOfRuns}
