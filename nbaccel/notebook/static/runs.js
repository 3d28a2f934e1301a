// A part of nbaccel's cockpit, joined from nbaccel/notebook/runs/ by tools/join_cockpit.py. Change it there.
export default function(bu){const{PALETTE,age,amount,button,cell,count,demandWords,deviceWords,duration,empty,h,inSight,nameOf,plain,rowsOf,table}=bu;
const LOG_FROM=100;
function ticks(v,z,count=4){if(!(z>v))return[v];
const a5=(z-v)/count;
const Y=10**Math.floor(Math.log10(a5));
const J=Y*([1,2,5,10].find((aj)=>Y*aj>=a5*0.999)??10);
const aw=[];
for(let w=Math.ceil(v/J-1e-9);w<=Math.floor(z/J+1e-9);w++)aw.push(Number((w*J).toPrecision(12)));
return aw}
function logTicks(v,z){const[y,B]=[Math.ceil(Math.log10(v)-1e-9),Math.floor(Math.log10(z)+1e-9)];
const J=Math.max(1,Math.ceil((B-y)/4));
const a2=[];
for(let Y=y;Y<=B;Y+=J)a2.push(10**Y);
return a2}
function isLogarithmic(v,z){return v>0&&z/v>LOG_FROM}
function reading(b){const ba=Math.abs(b);
if(ba>=1e4&&ba<1e9)return b.toFixed(0);
const[bk,Y]=b.toExponential(3).split("e");
const ap=Number(Y);
if(!b||(ap>=-4&&ap<4))return String(Number(b.toPrecision(4)));
return`${Number(bk)}e${ap<0?"-":"+"}${String(Math.abs(ap)).padStart(2,"0")}`}
const LETTERS="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const WITHOUT_VALUE={running:0,pending:1,done:2,stopped:3,error:4};
const known=new WeakMap();
function trialsOf(j,r){const ac=known.get(r);
if(ac)return ac;
const g=[...r.rows].map(([m,k])=>trialOf(m,k));
const aZ={trials:bestFirst(g,j.mode??""),names:varying(g),failures:failuresOf(g)};
known.set(r,aZ);
return aZ}
function shortTrial(m){return plain(m.split("_").at(-1))}
function trialOf(m,k){return{id:m,short:shortTrial(m),row:k,state:k.state??"pending",params:flat(k.config??{}),value:typeof k.value==="number"?k.value:null,points:pointsOf(k)}}
function bestFirst(g,aF){const aI=aF==="max"?-1:1;
const w=(f)=>(f.value!=null&&aF?-1:(WITHOUT_VALUE[f.state]??5));
return[...g].sort((V,W)=>{if(!aF)return V.row.number-W.row.number;
const y=w(V)-w(W);
if(y||V.value==null||W.value==null)return y||V.row.number-W.row.number;
return aI*(V.value-W.value)||V.row.number-W.row.number})}
function flat(bh,a3=""){const O={};
for(const[d,b]of Object.entries(bh)){const bt=b&&typeof b==="object"&&!Array.isArray(b)&&Object.keys(b).length;
if(bt)Object.assign(O,flat(b,`${a3}${d}/`));
else O[a3+d]=b}
return O}
function varying(g){const _=new Map();
for(const{params:G}of g)for(const d of Object.keys(G))_.set(d,new Set());
for(const{params:G}of g)for(const[d,ax]of _)if(ax.size<2)ax.add(JSON.stringify(G[d])??"");
return[..._].filter(([,ax])=>g.length<2||ax.size>1).map(([d])=>d)}
function failuresOf(g){const aC=new Map();
for(const f of g){const aa=plain(f.row.error);
if(!aa)continue;
const aU=aC.get(aa)??{error:aa,trials:[]};
aU.trials.push(f);
aC.set(aa,aU)}
return[...aC.values()].sort((V,W)=>W.trials.length-V.trials.length)}
function pointsOf({curve:i}){if(!i)return[];
const[v,z]=i.log?[Math.log10(i.low),Math.log10(i.high)]:[i.low,i.high];
const aw=Math.max(1,i.letters.length-1);
const q=[];
[...i.letters].forEach((bq,w)=>{const a0=LETTERS.indexOf(bq);
const F=v+((z-v)*a0)/63;
const b=i.log?10**F:F;
if(a0>=0)q.push([Math.round(i.first+((i.last-i.first)*w)/aw),b])});
return q}
function paramWords(b){if(b===undefined)return"";
if(typeof b==="number"&&!Number.isInteger(b))return reading(b);
return plain(typeof b==="string"?b:pythonOf(b))}
function pythonOf(b){if(b===null||b===undefined)return"None";
if(b===true||b===false)return b?"True":"False";
if(Array.isArray(b))return`[${b.map(pythonOf).join(", ")}]`;
if(typeof b==="object")return`{${Object.entries(b).map(([d,aj])=>`${JSON.stringify(d)}: ${pythonOf(aj)}`).join(", ")}}`;
return typeof b==="string"?JSON.stringify(b):String(b)}
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
function rounded(ak){return Math.round(ak*10)/10}
function scaleOf(_,L,Q){let[v,z]=[Infinity,-Infinity];
for(const b of _)[v,z]=[Math.min(v,b),Math.max(z,b)];
const aY=isLogarithmic(v,z);
const F=aY?Math.log10:(b)=>b;
const[y,B]=[F(v),F(z)];
const N=(b)=>rounded(L+(B>y?(F(b)-y)/(B-y):0.5)*(Q-L));
return{at:N,levels:(aY?logTicks(v,z):ticks(v,z)).map((b)=>({y:N(b),label:reading(b)}))}}
function layers(R){return{best:R[0]??"",front:R.slice(1,1+IN_FRONT),others:R.slice(1+IN_FRONT).join("")}}
function overlaidShape(g,p){const A=g.filter(({points:q})=>q.length>1).slice(0,MOST_LINES);
if(!A.length)return null;
const aQ=A.flatMap(({points:q})=>q);
const $=scaleOf([0,1],MARGIN,WIDE-10);
const B=aQ.reduce((au,[o])=>Math.max(au,o),1);
const o=(E)=>$.at(E/B);
const{at:N,levels:P}=scaleOf(aQ.map(([,b])=>b),TALL-BELOW,CEILING);
const R=A.map(({points:q})=>q.map(([E,b],ab)=>`${ab?"L":"M"}${o(E)} ${N(b)}`).join(""));
const aE=g.length-A.length;
return{...layers(R),levels:P,reports:ticks(0,B).filter(Number.isInteger).map((E)=>({x:o(E),label:String(E)})),words:`${plain(p)} over ${count(B+1,"report")} of ${count(A.length,"trial")}, the best in front: ${A[0].short}, ${lastWords(A[0])}`,left:aE}}
function lastWords({value:b,points:q}){return`now ${reading(b??q[q.length-1][1])}`}
function axisOf(d,_,L,Q){const aJ=_.filter((b)=>b!==undefined&&b!==null);
if(aJ.length&&aJ.every((b)=>typeof b==="number"&&Number.isFinite(b))){const{at:N,levels:P}=scaleOf(aJ,L,Q);
return{name:plain(d),at:(b)=>(typeof b==="number"?N(b):null),levels:P}}
const ao=[...new Set(_.map(paramWords))].sort();
if(ao.length>MOST_WORDS)return null;
const{at:N}=scaleOf([0,Math.max(1,ao.length-1)],L,Q);
const P=ao.map((l,w)=>({y:N(w),label:l.length>10?`${l.slice(0,9)}…`:l}));
return{name:plain(d),at:(b)=>N(ao.indexOf(paramWords(b))),levels:P}}
function parallelShape(g,I,p){const A=g.filter(({value:b})=>b!=null).slice(0,MOST_LINES);
const[L,Q]=[TALL-8,26];
const r=I.slice(0,MOST_AXES).map((d)=>({name:d,axis:axisOf(d,A.map(({params:G})=>G[d]),L,Q)}));
const aK=r.filter(({axis:ag})=>ag);
if(A.length<2||!aK.length)return null;
const aV=[...aK.map(({name:d,axis:ag})=>(f)=>ag?.at(f.params[d])??null)];
const B=(axisOf(p,A.map(({value:b})=>b),L,Q));
aV.push((f)=>B.at(f.value));
const aA=[...aK.map(({axis:ag})=>(ag)),B];
const o=(w)=>rounded(MARGIN+(w*(WIDE-MARGIN-24))/(aA.length-1));
const R=A.map((f)=>{const q=aV.map((F,w)=>({x:o(w),y:F(f)})).filter(({y:C})=>C!=null);
return q.map((a1,ab)=>`${ab?"L":"M"}${a1.x} ${a1.y}`).join("")});
return{...layers(R),axes:aA.map(({name:d,levels:P},w)=>({name:d,x:o(w),levels:P})),bottom:L,top:Q,words:`Parallel coordinates of ${count(A.length,"trial")}: ${aA.map(({name:d})=>d).join(", ")}; the best in front: ${wordsOfBest(A[0],I,p)}`}}
function wordsOfBest({params:G,value:b},I,p){const Z=I.slice(0,MOST_AXES).map((d)=>`${plain(d)} ${paramWords(G[d])}`);
return[...Z,`${plain(p)} ${reading(b??0)}`].join(", ")}
function scatterShape(g,d,p){const A=g.filter(({value:b,params:G})=>b!=null&&G[d]!==undefined);
const{width:az,height:F}=SMALL;
const $=A.length>1?axisOf(d,A.map(({params:G})=>G[d]),MARGIN,az-14):null;
if(!$)return null;
const{at:N,levels:P}=scaleOf(A.map(({value:b})=>b??0),F-BELOW,CEILING+8);
const[H,...av]=A.map(({params:G,value:b})=>({x:$.at(G[d])??MARGIN,y:N(b??0)}));
return{name:plain(d),best:H,others:av.map((aO)=>`M${aO.x} ${aO.y}h0`).join(""),levels:P,below:$.levels.map(({y:C,label:l})=>({x:C,label:l})),words:`${plain(p)} against ${plain(d)} of ${count(A.length,"trial")}, the best at ${paramWords(A[0].params[d])}`}}
function scatterShapes(g,I,p){return I.slice(0,MOST_AXES).map((d)=>scatterShape(g,d,p)).filter((t)=>t!==null)}
function sparkPath({points:q}){if(q.length<2)return"";
const bl=scaleOf(q.map(([,b])=>b),15,1);
const $=scaleOf([q[0][0],q[q.length-1][0]],0,64);
const br=(o)=>rounded(((o-q[0][0])/(q[q.length-1][0]-q[0][0]||1))*64);
return $&&q.map(([o,b],ab)=>`${ab?"L":"M"}${br(o)} ${bl.at(b)}`).join("")}
function drawLayers({best:H,front:bo,others:av},D){return[av&&h("path",{key:"others",class:"other",d:av}),...bo.map((bi,w)=>h("path",{key:`front ${w}`,class:`front c${D}`,d:bi})).reverse(),h("path",{key:"best",class:`curve-line c${D}`,d:H})]}
function drawOverlaid(t,p,D){return h("figure",{key:"overlaid",class:"curve wide"},h("figcaption",{class:"line"},h("span",{class:"name cut"},p),h("span",{class:"quiet"},"over reports, the best in front")),h("svg",{viewBox:`0 0 ${WIDE} ${TALL}`,role:"img","aria-label":t.words},t.levels.map(({y:C,label:l})=>h("g",{key:l},h("path",{d:`M52 ${C}H${WIDE}`,class:"level"}),h("text",{x:47,y:C+4,"text-anchor":"end"},l))),t.reports.map(({x:o,label:l})=>h("text",{key:`at ${l}`,x:o,y:TALL-5,"text-anchor":"middle"},l)),drawLayers(t,D)))}
function drawParallel(t,D){return h("figure",{key:"parallel",class:"curve wide"},h("figcaption",{class:"line"},h("span",{class:"name"},"Parameters"),h("span",{class:"quiet"},"and what came of them, the best in front")),h("svg",{viewBox:`0 0 ${WIDE} ${TALL}`,role:"img","aria-label":t.words},drawLayers(t,D),t.axes.map(({name:d,x:o,levels:P},w)=>h("g",{key:d},h("path",{class:"axis-line",d:`M${o} ${t.top}V${t.bottom}`}),h("text",{class:"axis-name",x:w?o:o-40,y:14,"text-anchor":w===0?"start":w===t.axes.length-1?"end":"middle",...(w===t.axes.length-1?{x:WIDE}:{})},d),P.map(({y:C,label:l})=>h("text",{key:l,x:o-5,y:C+4,"text-anchor":"end"},l))))))}
function drawScatter(t,D){const{width:az,height:F}=SMALL;
return h("figure",{key:`against ${t.name}`,class:"curve"},h("figcaption",{class:"line"},h("span",{class:"name cut",title:t.name},t.name)),h("svg",{viewBox:`0 0 ${az} ${F}`,role:"img","aria-label":t.words},t.levels.map(({y:C,label:l})=>h("g",{key:l},h("path",{d:`M52 ${C}H${az}`,class:"level"}),h("text",{x:47,y:C+4,"text-anchor":"end"},l))),t.below.map(({x:o,label:l})=>h("text",{key:`at ${l}`,x:o,y:F-5,"text-anchor":"middle"},l)),h("path",{class:`dots c${D}`,d:t.others}),h("circle",{class:`curve-end c${D}`,cx:t.best.x,cy:t.best.y,r:3.5}),h("text",{class:"star",x:t.best.x,y:t.best.y-6,"text-anchor":"middle"},"★")))}
const STOPS=["Stop","Interrupt","Kill"];
const STEPS=["after its next report","now, with KeyboardInterrupt","at once, by ending its processes"];
function stopButton(a,c){if(!a.stop)return null;
const{label:l,about:n,order:aG}=a.stop;
const ai={"data-id":aG,"data-name":a.name};
if(c.asked.has(aG))return button("asked…",{...ai,class:"aside","aria-label":`${l} ${a.name}`,disabled:true});
const bc=`${l} ${a.name} ${n}`;
if(!a.owner)return button(l,{...ai,class:"aside","data-act":"cancel-run","aria-label":`${l} ${a.name}`,title:bc});
if(c.doubted!==aG){return button(`${l}…`,{...ai,class:"aside","data-act":"doubt","data-owner":a.owner,"aria-label":`${l} ${a.name} of ${a.owner}`,title:bc})}
return h("span",{class:"ask nowrap aside"},button("Keep",{...ai,"data-act":"keep","aria-label":`Keep ${a.name} of ${a.owner}`})," ",button(`${l} it`,{...ai,"data-act":"cancel-run",class:"urgent","aria-label":`${l} ${a.name} of ${a.owner} all the same`}))}
const TRIAL_SIGNS={pending:"◌",running:"●",done:"✓",stopped:"⊘",error:"✕",interrupted:"⊘"};
const MOST_COLUMNS=5;
const MOST_NAMED=3;
const orders=new Map();
function drawTrials(n,M){if(!M?.rows.size)return[n.view.underWay&&empty("Asking for the trials …")];
const O=trialsOf(n.experiment,M);
const p=n.experiment.shown||n.experiment.metric||"";
const a_=p?overlaidShape(O.trials,p):null;
return[...drawFailures(O),tableOf(O,p,n),a_&&drawOverlaid(a_,plain(p),n.view.colour),...(n.view.underWay?[]:drawEnd(O,p,n.view.colour))]}
function drawEnd({trials:g,names:I},p,D){const a$=parallelShape(g,I,p);
const a8=scatterShapes(g,I,p);
return[a$&&drawParallel(a$,D),a8.length>0&&h("div",{key:"scatters",class:"curves",role:"group","aria-label":`${plain(p)} against each parameter`},a8.map((t)=>drawScatter(t,D)))]}
function drawFailures({failures:aS}){if(!aS.length)return[];
const ar=({error:aa,trials:g})=>{const bz=g.slice(0,MOST_NAMED).map(({short:af})=>af).join(", ")+(g.length>MOST_NAMED?", …":"");
return h("li",{key:aa},h("span",{class:"state failed"},h("span",{class:"sign","aria-hidden":"true"},"✕"),` ${count(g.length,"trial")} failed: `),aa," ",h("span",{class:"quiet"},bz))};
return[h("ul",{key:"failures",class:"lines","aria-label":"Failures"},aS.map(ar))]}
function tableOf(O,p,n){const{id:m,name:d}=n.view;
const I=O.names.slice(0,MOST_COLUMNS);
const g=inOrder(O.trials,n);
const ad={device:g.some((f)=>deviceOf(f,n)),why:g.some(({row:k})=>k.waits)};
const bg=["Trial","State",...I.map(plain),...(p?[plain(p),"Curve"]:[]),...(ad.device?["Device"]:[]),"Took",...(ad.why?["Why"]:[]),""];
const a9=n.state.sights.get(m)??{top:0,height:460,row:33};
const{first:y,last:B}=inSight(g.length,a9);
const M=g.slice(y,B).map((f)=>drawRow(f,I,p,ad,n));
const aT=(by,a6)=>a6>0&&h("tr",{key:by,class:"gap","aria-hidden":"true",style:`height:${Math.round(a6*a9.row)}px`});
const bv=([aT("above",y),...M,aT("below",g.length-B)].filter(Boolean));
return table(`Trials of ${d}`,bg,bv,{rows:g.length,sight:m})}
function inOrder(g,{view:e,state:c}){const ac=c.heldSight===e.id?orders.get(e.id):null;
if(!ac){orders.set(e.id,g);
return g}
const s=new Map(g.map((f)=>[f.id,f]));
const bw=ac.map(({id:m})=>s.get(m)).filter((f)=>f!==undefined);
const known=new Set(ac.map(({id:m})=>m));
return[...bw,...g.filter(({id:m})=>!known.has(m))]}
function drawRow(f,I,p,ad,n){const{row:k}=f;
const c=trialState(f,n);
const al=c==="running"?` ink c${n.view.colour}`:"";
const Z=f.value!=null?reading(f.value):plain(k.value==null?"":String(k.value));
const ar=sparkPath(f);
const bj=deviceOf(f,n);
return h("tr",{key:f.id,"data-trial":f.id},h("th",{scope:"row",title:plain(f.id)},h("span",{class:"name"},f.short)),h("td",{class:`nowrap state ${c==="error"?"failed":c==="pending"?"waiting":c}`},h("span",{class:`sign${al}`,"aria-hidden":"true"},TRIAL_SIGNS[c]??"◌"),` ${k.waits&&n.view.underWay?"waiting":c}`),I.map((d)=>h("td",{key:d,class:"nowrap"},h("span",{class:"cut",title:paramWords(f.params[d])},paramWords(f.params[d])))),p&&cell(Z,"nowrap"),p&&h("td",{class:"trend"},ar&&h("svg",{class:"spark",viewBox:"0 0 64 16",preserveAspectRatio:"none",role:"img","aria-label":`${count(k.reports??0,"report")}`},h("path",{d:ar}))),ad.device&&cell(bj,"nowrap"),cell(tookWords(f,n),"nowrap"),ad.why&&cell(whyOf(f,n),"why"),cell([stopButton(stoppable(f,n),n.state),copyButton(f)],"acts"))}
function trialState({row:k,state:c},{view:e}){return!e.underWay&&k.started_at&&["running","pending"].includes(c)?"interrupted":c}
function deviceOf(f,n){return trialState(f,n)==="interrupted"?"":deviceWords(f.row.devices)}
function tookWords({row:k,state:c},{view:e,experiment:j,now:s}){if(!k.started_at)return"";
const aP=k.ended_at??(e.underWay?null:j.ended_at);
if(aP)return duration(aP-k.started_at);
return c==="running"&&e.underWay?age(s-k.started_at):""}
function whyOf({id:m,row:k},{view:e,whys:aL}){if(!k.waits||!e.underWay)return"";
return aL.get(`${e.name} ${plain(m)}`)??"its process is being started"}
function stoppable({id:m,short:af,row:k,state:c},{view:e}){const J=Math.min(k.stops??0,STOPS.length-1);
const bm=e.underWay&&(c==="running"||c==="pending");
const n=c==="pending"?"before it begins":STEPS[J];
return{name:`trial ${af}`,owner:e.owner,stop:bm?{label:STOPS[J],about:n,order:`${e.id}/${k.stops??0}/${m}`}:null}}
function copyButton({short:af,row:k}){const bb=pythonOf(k.config??{});
return button("Config",{"data-act":"copy","data-text":bb,"data-name":`the config of trial ${af}`,"aria-label":`Copy the config of trial ${af}`,title:`Copy ${plain(bb)}`})}
const EXPERIMENT_SIGNS={running:"●",stopping:"●",finished:"✓",stopped:"⊘",failed:"✕"};
const MOST_PARAMETERS=4;
function goesOn(j){return["running","stopping"].includes(j.state??"running")}
function experimentView(j,s,u){const K=goesOn(j)&&!u;
const c=goesOn(j)&&u?"ended with it":(j.state??"running");
const J=Math.min(j.stops??0,STOPS.length-1);
return{id:j.id,name:plain(j.name),owner:plain(j.owner),state:c,sign:c==="ended with it"?"–":(EXPERIMENT_SIGNS[c]??"◌"),colour:j.hue*PALETTE.hues[0].length,underWay:K,time:j.started_at?age((j.ended_at??s)-j.started_at):"",progress:trialWords(j),metrics:bestWords(j),best:bestWords(j,Infinity),why:plain(j.why),path:plain(j.path),goOn:K||c==="finished"?"":`tune.Tuner.restore(${JSON.stringify(j.path)}, trainable)`,stop:K?{label:STOPS[J],about:STEPS[J],order:`${j.id}/${j.stops??0}`}:null}}
function trialWords({counts:S={},total:bd}){const u=["done","stopped","error"].reduce((bx,c)=>bx+(S[c]??0),0);
const Z=bd==null?`${count(u,"trial")} ended`:`${u} of ${count(bd,"trial")} ended`;
return[Z,S.running?`${S.running} running`:"",S.error?`${S.error} failed`:""].filter(Boolean).join(" · ")}
function bestWords({best:H,metric:p},au=MOST_PARAMETERS){if(!H)return"";
const G=Object.entries(H.config).map(([d,b])=>`${plain(d)} ${plain(b)}`);
const Z=G.slice(0,au).join(", ")+(G.length>au?", …":"");
return`${plain(p)} ${reading(H.value)}${Z&&` with ${Z}`}`}
function head(a,c,d,bf){const aB=[a.owner,a.time,a.progress,bf&&a.metrics].filter(Boolean).join(" · ");
return h("div",{class:"line head",key:"head"},d,stateOf(a),h("span",{class:"facts quiet"},aB),stopButton(a,c))}
function stateOf({state:c,sign:aI,colour:D}){const al=c==="running"?` ink c${D}`:"";
return h("span",{class:`nowrap state ${c}`},h("span",{class:`sign${al}`,"aria-hidden":"true"},aI),` ${c}`)}
function openExperiments({experiments:X=[]},c){const K=X.filter(goesOn).slice(0,1);
const y=new Set((K.length?K:X.slice(0,1)).map(({id:m})=>m));
return X.map(({id:m})=>m).filter((m)=>y.has(m)!==c.open.has(m))}
function drawExperiments(r,s,u,c,T){const X=r.experiments??[];
if(!X.length)return[];
const ae=new Set(openExperiments(r,c));
const aL=waitsOf(T);
const M=X.map((j)=>{const e=experimentView(j,s,u);
const aq=ae.has(e.id);
const d=h("button",{type:"button",class:"opens","data-act":"group","data-function":e.id,"aria-expanded":String(aq)},h("span",{"aria-hidden":"true"},aq?"▾ ":"▸ "),nameOf(e.name));
return h("li",{key:e.id},head(e,c,d,!aq),aq&&h("div",{class:"run"},trialDetails({view:e,experiment:j,state:c,now:s,whys:aL})))});
return[h("ul",{class:"runs",key:"experiments","aria-label":"Experiments"},M)]}
function drawExperiment(j,s,u,c,T){const e=experimentView(j,s,u);
return[head(e,c,nameOf(e.name),false),h("div",{class:"run",key:"run"},trialDetails({view:e,experiment:j,state:c,now:s,whys:waitsOf(T)}))]}
function trialDetails(n){const{view:e,state:c}=n;
const aR=e.state==="failed";
return[e.why&&h("p",{key:"why",class:aR?"attention":""},aR&&h("strong",{},h("span",{"aria-hidden":"true"},"⚠ "),"Attention: "),e.why),e.best&&h("p",{key:"best"},`best: ${e.best} (trial ${shortTrial(n.experiment.best?.id??"")})`),...drawTrials(n,c.past[`rows/${e.id}`]?.data??null),h("p",{key:"path",class:"quiet path"},e.path),e.goOn&&empty("Go on:",e.goOn)]}
function waitsOf(T){const M=(T?.tasks??[]).filter((k)=>k.state.startsWith("PENDING"));
return new Map(M.map((k)=>[plain(k.name),plain(k.reason==null?k.why:T?.reasons?.[k.reason])]))}
const WIDTH=280;
const HEIGHT=136;
const LEFT=46;
const FLOOR=HEIGHT-20;
const TOP=16;
const RIGHT=10;
function curveShape(i,ah){const q=i.points;
const[aM,U]=[q.map(([o])=>o),q.map(([,C])=>C)];
const[y,B]=[aM[0],aM[aM.length-1]];
const[v,z]=[Math.min(...U),Math.max(...U)];
const aW=isLogarithmic(v,z);
const F=aW?Math.log10:(b)=>b;
const[L,Q]=[F(v),F(z)];
const o=(E)=>round(LEFT+((E-y)/(B-y||1))*(WIDTH-LEFT-RIGHT));
const C=(b)=>round(TOP+(1-(Q>L?(F(b)-L)/(Q-L):0.5))*(FLOOR-TOP-6));
const at=ah.filter(({report:E})=>E>=y&&E<=B);
const H=at.find((bs)=>bs.best);
const d=plain(i.name);
return{name:d,last:reading(U[U.length-1]),line:q.map(([E,b],ab)=>`${ab?"L":"M"}${o(E)} ${C(b)}`).join(""),end:{x:o(B),y:C(U[U.length-1])},levels:(aW?logTicks(v,z):ticks(v,z)).map((b)=>({y:C(b),label:reading(b)})),reports:ticks(y,B).filter(Number.isInteger).map((b)=>({x:o(b),label:String(b)})),marks:at.map(({report:E})=>o(E)),best:H?o(H.report):null,words:[`${d} over ${count(B-y+1,"report")}: from ${reading(U[0])} to ${reading(U[U.length-1])}`,`between ${reading(v)} and ${reading(z)}`,at.length?count(at.length,"checkpoint"):"",H?`the best one at report ${H.report}`:""].filter(Boolean).join(", ")}}
function round(ak){return Math.round(ak*10)/10}
function drawCurves(an,D){if(!an.length)return null;
return h("div",{class:"curves",key:"curves"},an.map((i)=>drawCurve(i,D)))}
function drawCurve(i,D){return h("figure",{key:i.name,class:"curve"},h("figcaption",{class:"line"},h("span",{class:"name cut",title:i.name},i.name),h("span",{class:"last"},i.last)),h("svg",{viewBox:`0 0 ${WIDTH} ${HEIGHT}`,role:"img","aria-label":i.words},i.levels.map(({y:C,label:l})=>h("g",{key:l},h("path",{d:`M${LEFT} ${C}H${WIDTH}`,class:"level"}),h("text",{x:LEFT-5,y:C+4,"text-anchor":"end"},l))),i.reports.map(({x:o,label:l})=>h("text",{key:`at ${l}`,x:o,y:HEIGHT-5,"text-anchor":"middle"},l)),i.marks.length>0&&h("path",{class:"marks",d:i.marks.map((o)=>`M${o} ${FLOOR}v-6`).join("")}),i.best!=null&&h("path",{class:"best",d:`M${i.best} ${FLOOR}V14`}),i.best!=null&&h("text",{class:"star",x:i.best,y:11,"text-anchor":"middle"},"★"),h("path",{class:`curve-line c${D}`,d:i.line}),h("circle",{class:`curve-end c${D}`,cx:i.end.x,cy:i.end.y,r:2.5})))}
const UNDER_WAY=["waiting","running","stopping","restarting"];
const SIGNS={waiting:"◌",restarting:"◌",running:"●",stopping:"●",finished:"✓",returned:"✓",stopped:"⊘",failed:"✕"};
const METRICS=4;
function isUnderWay(a){return UNDER_WAY.includes(a.state??"waiting")}
function runView(a,s,u){const K=isUnderWay(a);
const c=K&&u?"ended with it":(a.state??"waiting");
const am=a.ranks??[];
const an=a.curves??[];
const ah=a.checkpoints??[];
const H=ah.find((aj)=>aj.best)?.name??"";
const J=Math.min(a.stops??0,STOPS.length-1);
return{id:a.id,name:plain(a.name),owner:plain(a.owner),state:c,sign:c==="ended with it"?"–":signOf(c),colour:a.hue*PALETTE.hues[0].length,underWay:K&&!u,time:timeWords(a,s),progress:progressWords(a),gang:am.length?gangWords(a):"",metrics:metricWords(a),ranks:am.map((x)=>rankView(x,a)),rankCounts:rankCounts(am),curves:an.filter((i)=>i.points.length>1).map((i)=>curveShape(i,ah)),checkpoints:H&&`${count(ah.length,"checkpoint")}, best ${plain(H)}`,load:a.load??"",path:plain(a.path),why:plain(a.why),resume:K&&!u?"":resumeWords(a,c),stop:K&&!u?{label:STOPS[J],about:STEPS[J],order:`${a.id}/${a.stops??0}`}:null}}
function signOf(c){return SIGNS[c]??"◌"}
function rankView(x,a){const c=x.state??"waiting";
const E=x.report==null?"":`report ${x.report}`;
const aB=[c,E,deviceWords(x.devices),x.pid?`pid ${x.pid}`:"",plain(x.node)];
return{rank:x.rank,state:c,sign:signOf(c),colour:a.hue*PALETTE.hues[0].length+(x.rank%PALETTE.hues[0].length),report:E,title:`rank ${x.rank}: ${aB.filter(Boolean).join(", ")}`}}
function gangWords(a){const aD={};
for(const x of a.ranks??[]){for(const[a4,bp]of Object.entries(x.devices??{}))aD[a4]=[...new Set([...(aD[a4]??[]),...bp])]}
const be=count((a.ranks??[]).length,"worker");
const aN=deviceWords(aD);
return[aN?`${be} on ${aN}`:`${be} with ${demandWords(a.each)} each`,a.backend].filter(Boolean).join(" · ")}
function progressWords(a){const known=a.epochs!=null&&a.epochs_done!=null;
const bn=known?`${amount(a.epochs_done??0)} of ${count(a.epochs??0,"epoch")}`:a.epoch==null?"":`epoch ${amount(a.epoch)}`;
const aE=a.left_s!=null&&isUnderWay(a)?`about ${age(a.left_s)} left`:"";
return[bn,aE,a.reports?count(a.reports,"report"):"no report yet"].filter(Boolean).join(" · ")}
function timeWords(a,s){return a.started_at?age((a.ended_at??s)-a.started_at):""}
function metricWords(a){return(a.curves??[]).slice(0,METRICS).map(({name:d,points:q})=>`${plain(d)} ${reading(q[q.length-1][1])}`).join(", ")}
function rankCounts(am){const S=new Map();
for(const{state:c="waiting"}of am)S.set(c,(S.get(c)??0)+1);
return[...S].map(([c,ak])=>`${ak} ${c}`).join(", ")}
function resumeWords(a,c){if(c==="finished")return"";
const aX=(a.checkpoints??[]).at(-1)?.name;
return`Resume: run the cell again; a run of the same name goes on from ${aX?plain(aX):"its beginning, since it has no checkpoint"}`}
const OPEN_AT_FIRST=2;
function drawRuns(r,s,u,c){const K=r.runs.filter(isUnderWay).slice(0,OPEN_AT_FIRST);
const y=new Set((K.length?K:r.runs.slice(0,1)).map((a)=>a.id));
const M=r.runs.map((a)=>{const e=runView(a,s,u);
return drawRun(e,c,y.has(a.id)!==c.open.has(e.id))});
return[M.length>0&&h("ul",{class:"runs",key:"runs","aria-label":"Training runs"},M),Boolean(r.more)&&h("p",{class:"quiet",key:"more"},`and ${count(r.more??0,"more run")}`)]}
function drawOneRun(r,s,u,c){const a=runView(r,s,u);
return[head(a,c,nameOf(a.name),false),h("div",{class:"run",key:"run"},details(a))]}
function drawBrief(r,s,u,c){if(u)return[];
const X=(r.experiments??[]).filter(goesOn).map((j)=>experimentView(j,s,false));
const a7=[...X,...r.runs.filter(isUnderWay).map((a)=>runView(a,s,false))];
if(!a7.length)return[];
return[h("ul",{class:"runs",key:"runs","aria-label":"Runs under way"},a7.map((a)=>h("li",{key:a.id},head(a,c,nameOf(a.name),true))))]}
function drawRun(a,c,ae){const d=h("button",{type:"button",class:"opens","data-act":"group","data-function":a.id,"aria-expanded":String(ae)},h("span",{"aria-hidden":"true"},ae?"▾ ":"▸ "),nameOf(a.name));
return h("li",{key:a.id},head(a,c,d,!ae),ae&&h("div",{class:"run"},details(a)))}
function details(a){return[a.why&&h("p",{key:"why",class:a.state==="failed"?"attention":""},a.state==="failed"&&h("strong",{},h("span",{"aria-hidden":"true"},"⚠ "),"Attention: "),a.why),a.gang&&h("p",{key:"gang"},a.gang),a.ranks.length>0&&h("ul",{key:"ranks",class:"ranks","aria-label":`Ranks: ${a.rankCounts}`},a.ranks.map(drawRank)),drawCurves(a.curves,a.colour),a.checkpoints&&h("p",{key:"checkpoints"},a.curves.length?`${a.checkpoints}, marked ★`:a.checkpoints),a.load&&empty("Load the best one:",a.load),h("p",{key:"path",class:"quiet path"},a.path),a.resume&&h("p",{key:"resume",class:"quiet"},a.resume)]}
function drawRank(x){const al=x.state==="running"?` ink c${x.colour}`:"";
return h("li",{key:String(x.rank),title:x.title,class:`state ${x.state}`},h("span",{class:"unseen"},"rank "),String(x.rank)," ",h("span",{class:`sign${al}`,"aria-hidden":"true"},x.sign),h("span",{class:"unseen"},` ${x.state}`))}
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
function viewOfRuns(aH){const M=(a)=>({...a,ranks:rowsOf(a.ranks),checkpoints:rowsOf(a.checkpoints)});
const r={...aH,runs:(aH.runs??[]).map(M),experiments:aH.experiments??[]};
const ay=h("style",{key:"look of runs"},RUNS_STYLE);
const e=(s,u,T)=>({active:u?0:r.runs.filter(isUnderWay).length+(r.experiments??[]).filter(goesOn).length,draw:(c)=>[ay,...drawExperiments(r,s,u,c,T),...drawRuns(r,s,u,c)],brief(c){const R=drawBrief(r,s,u,c);
return R.length?[ay,...R]:[]},only(c){const[a,j]=[r.runs.find(({id:m})=>m===c.only),r.experiments?.find(({id:m})=>m===c.only)];
if(a)return[ay,...drawOneRun(a,s,u,c)];
return j?[ay,...drawExperiment(j,s,u,c,T)]:[]}});
e.open=(c)=>(c.only?(r.experiments??[]).map(({id:m})=>m).filter((m)=>m===c.only):openExperiments(r,c));
return e}
return viewOfRuns}
