// A part of nbaccel's cockpit, joined from nbaccel/notebook/runs/ by tools/join_cockpit.py. Change it there.
export default function(bt){const{PALETTE,age,amount,button,cell,count,demandWords,deviceWords,duration,empty,h,inSight,nameOf,plain,rowsOf,table}=bt;
const LOG_FROM=100;
function ticks(v,z,count=4){if(!(z>v))return[v];
const a4=(z-v)/count;
const Y=10**Math.floor(Math.log10(a4));
const J=Y*([1,2,5,10].find((aj)=>Y*aj>=a4*0.999)??10);
const aw=[];
for(let w=Math.ceil(v/J-1e-9);w<=Math.floor(z/J+1e-9);w++)aw.push(Number((w*J).toPrecision(12)));
return aw}
function logTicks(v,z){const[y,B]=[Math.ceil(Math.log10(v)-1e-9),Math.floor(Math.log10(z)+1e-9)];
const J=Math.max(1,Math.ceil((B-y)/4));
const a1=[];
for(let Y=y;Y<=B;Y+=J)a1.push(10**Y);
return a1}
function isLogarithmic(v,z){return v>0&&z/v>LOG_FROM}
function reading(b){const a9=Math.abs(b);
if(a9>=1e4&&a9<1e9)return b.toFixed(0);
const[bj,Y]=b.toExponential(3).split("e");
const ap=Number(Y);
if(!b||(ap>=-4&&ap<4))return String(Number(b.toPrecision(4)));
return`${Number(bj)}e${ap<0?"-":"+"}${String(Math.abs(ap)).padStart(2,"0")}`}
const LETTERS="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const WITHOUT_VALUE={running:0,pending:1,done:2,stopped:3,error:4};
const known=new WeakMap();
function trialsOf(k,q){const ac=known.get(q);
if(ac)return ac;
const e=[...q.rows].map(([l,i])=>trialOf(l,i));
const aY={trials:bestFirst(e,k.mode??""),names:varying(e),failures:failuresOf(e)};
known.set(q,aY);
return aY}
function trialOf(l,i){return{id:l,short:plain(l.split("_").at(-1)??l),row:i,state:i.state??"pending",params:flat(i.config??{}),value:typeof i.value==="number"?i.value:null,points:pointsOf(i)}}
function bestFirst(e,aF){const aI=aF==="max"?-1:1;
const w=(m)=>(m.value!=null&&aF?-1:(WITHOUT_VALUE[m.state]??5));
return[...e].sort((V,W)=>{if(!aF)return V.row.number-W.row.number;
const y=w(V)-w(W);
if(y||V.value==null||W.value==null)return y||V.row.number-W.row.number;
return aI*(V.value-W.value)||V.row.number-W.row.number})}
function flat(bg,a2=""){const O={};
for(const[d,b]of Object.entries(bg)){const bs=b&&typeof b==="object"&&!Array.isArray(b)&&Object.keys(b).length;
if(bs)Object.assign(O,flat(b,`${a2}${d}/`));
else O[a2+d]=b}
return O}
function varying(e){const _=new Map();
for(const{params:G}of e)for(const d of Object.keys(G))_.set(d,new Set());
for(const{params:G}of e)for(const[d,ax]of _)if(ax.size<2)ax.add(JSON.stringify(G[d])??"");
return[..._].filter(([,ax])=>e.length<2||ax.size>1).map(([d])=>d)}
function failuresOf(e){const aC=new Map();
for(const m of e){const aa=plain(m.row.error);
if(!aa)continue;
const aT=aC.get(aa)??{error:aa,trials:[]};
aT.trials.push(m);
aC.set(aa,aT)}
return[...aC.values()].sort((V,W)=>W.trials.length-V.trials.length)}
function pointsOf({curve:g}){if(!g)return[];
const[v,z]=g.log?[Math.log10(g.low),Math.log10(g.high)]:[g.low,g.high];
const aw=Math.max(1,g.letters.length-1);
const p=[];
[...g.letters].forEach((bp,w)=>{const a$=LETTERS.indexOf(bp);
const F=v+((z-v)*a$)/63;
const b=g.log?10**F:F;
if(a$>=0)p.push([Math.round(g.first+((g.last-g.first)*w)/aw),b])});
return p}
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
const aX=isLogarithmic(v,z);
const F=aX?Math.log10:(b)=>b;
const[y,B]=[F(v),F(z)];
const N=(b)=>rounded(L+(B>y?(F(b)-y)/(B-y):0.5)*(Q-L));
return{at:N,levels:(aX?logTicks(v,z):ticks(v,z)).map((b)=>({y:N(b),label:reading(b)}))}}
function layers(R){return{best:R[0]??"",front:R.slice(1,1+IN_FRONT),others:R.slice(1+IN_FRONT).join("")}}
function overlaidShape(e,o){const A=e.filter(({points:p})=>p.length>1).slice(0,MOST_LINES);
if(!A.length)return null;
const aP=A.flatMap(({points:p})=>p);
const $=scaleOf([0,1],MARGIN,WIDE-10);
const B=aP.reduce((au,[n])=>Math.max(au,n),1);
const n=(E)=>$.at(E/B);
const{at:N,levels:P}=scaleOf(aP.map(([,b])=>b),TALL-BELOW,CEILING);
const R=A.map(({points:p})=>p.map(([E,b],ab)=>`${ab?"L":"M"}${n(E)} ${N(b)}`).join(""));
const aE=e.length-A.length;
return{...layers(R),levels:P,reports:ticks(0,B).filter(Number.isInteger).map((E)=>({x:n(E),label:String(E)})),words:`${plain(o)} over ${count(B+1,"report")} of ${count(A.length,"trial")}, the best in front: ${A[0].short}, ${lastWords(A[0])}`,left:aE}}
function lastWords({value:b,points:p}){return`now ${reading(b??p[p.length-1][1])}`}
function axisOf(d,_,L,Q){const aJ=_.filter((b)=>b!==undefined&&b!==null);
if(aJ.length&&aJ.every((b)=>typeof b==="number"&&Number.isFinite(b))){const{at:N,levels:P}=scaleOf(aJ,L,Q);
return{name:plain(d),at:(b)=>(typeof b==="number"?N(b):null),levels:P}}
const ao=[...new Set(_.map(paramWords))].sort();
if(ao.length>MOST_WORDS)return null;
const{at:N}=scaleOf([0,Math.max(1,ao.length-1)],L,Q);
const P=ao.map((j,w)=>({y:N(w),label:j.length>10?`${j.slice(0,9)}…`:j}));
return{name:plain(d),at:(b)=>N(ao.indexOf(paramWords(b))),levels:P}}
function parallelShape(e,I,o){const A=e.filter(({value:b})=>b!=null).slice(0,MOST_LINES);
const[L,Q]=[TALL-8,26];
const q=I.slice(0,MOST_AXES).map((d)=>({name:d,axis:axisOf(d,A.map(({params:G})=>G[d]),L,Q)}));
const aK=q.filter(({axis:ag})=>ag);
if(A.length<2||!aK.length)return null;
const aU=[...aK.map(({name:d,axis:ag})=>(m)=>ag?.at(m.params[d])??null)];
const B=(axisOf(o,A.map(({value:b})=>b),L,Q));
aU.push((m)=>B.at(m.value));
const aA=[...aK.map(({axis:ag})=>(ag)),B];
const n=(w)=>rounded(MARGIN+(w*(WIDE-MARGIN-24))/(aA.length-1));
const R=A.map((m)=>{const p=aU.map((F,w)=>({x:n(w),y:F(m)})).filter(({y:C})=>C!=null);
return p.map((a0,ab)=>`${ab?"L":"M"}${a0.x} ${a0.y}`).join("")});
return{...layers(R),axes:aA.map(({name:d,levels:P},w)=>({name:d,x:n(w),levels:P})),bottom:L,top:Q,words:`Parallel coordinates of ${count(A.length,"trial")}: ${aA.map(({name:d})=>d).join(", ")}; the best in front: ${wordsOfBest(A[0],I,o)}`}}
function wordsOfBest({params:G,value:b},I,o){const Z=I.slice(0,MOST_AXES).map((d)=>`${plain(d)} ${paramWords(G[d])}`);
return[...Z,`${plain(o)} ${reading(b??0)}`].join(", ")}
function scatterShape(e,d,o){const A=e.filter(({value:b,params:G})=>b!=null&&G[d]!==undefined);
const{width:az,height:F}=SMALL;
const $=A.length>1?axisOf(d,A.map(({params:G})=>G[d]),MARGIN,az-14):null;
if(!$)return null;
const{at:N,levels:P}=scaleOf(A.map(({value:b})=>b??0),F-BELOW,CEILING+8);
const[H,...av]=A.map(({params:G,value:b})=>({x:$.at(G[d])??MARGIN,y:N(b??0)}));
return{name:plain(d),best:H,others:av.map((aO)=>`M${aO.x} ${aO.y}h0`).join(""),levels:P,below:$.levels.map(({y:C,label:j})=>({x:C,label:j})),words:`${plain(o)} against ${plain(d)} of ${count(A.length,"trial")}, the best at ${paramWords(A[0].params[d])}`}}
function scatterShapes(e,I,o){return I.slice(0,MOST_AXES).map((d)=>scatterShape(e,d,o)).filter((t)=>t!==null)}
function sparkPath({points:p}){if(p.length<2)return"";
const bk=scaleOf(p.map(([,b])=>b),15,1);
const $=scaleOf([p[0][0],p[p.length-1][0]],0,64);
const bq=(n)=>rounded(((n-p[0][0])/(p[p.length-1][0]-p[0][0]||1))*64);
return $&&p.map(([n,b],ab)=>`${ab?"L":"M"}${bq(n)} ${bk.at(b)}`).join("")}
function drawLayers({best:H,front:bn,others:av},D){return[av&&h("path",{key:"others",class:"other",d:av}),...bn.map((bh,w)=>h("path",{key:`front ${w}`,class:`front c${D}`,d:bh})).reverse(),h("path",{key:"best",class:`curve-line c${D}`,d:H})]}
function drawOverlaid(t,o,D){return h("figure",{key:"overlaid",class:"curve wide"},h("figcaption",{class:"line"},h("span",{class:"name cut"},o),h("span",{class:"quiet"},"over reports, the best in front")),h("svg",{viewBox:`0 0 ${WIDE} ${TALL}`,role:"img","aria-label":t.words},t.levels.map(({y:C,label:j})=>h("g",{key:j},h("path",{d:`M52 ${C}H${WIDE}`,class:"level"}),h("text",{x:47,y:C+4,"text-anchor":"end"},j))),t.reports.map(({x:n,label:j})=>h("text",{key:`at ${j}`,x:n,y:TALL-5,"text-anchor":"middle"},j)),drawLayers(t,D)))}
function drawParallel(t,D){return h("figure",{key:"parallel",class:"curve wide"},h("figcaption",{class:"line"},h("span",{class:"name"},"Parameters"),h("span",{class:"quiet"},"and what came of them, the best in front")),h("svg",{viewBox:`0 0 ${WIDE} ${TALL}`,role:"img","aria-label":t.words},drawLayers(t,D),t.axes.map(({name:d,x:n,levels:P},w)=>h("g",{key:d},h("path",{class:"axis-line",d:`M${n} ${t.top}V${t.bottom}`}),h("text",{class:"axis-name",x:w?n:n-40,y:14,"text-anchor":w===0?"start":w===t.axes.length-1?"end":"middle",...(w===t.axes.length-1?{x:WIDE}:{})},d),P.map(({y:C,label:j})=>h("text",{key:j,x:n-5,y:C+4,"text-anchor":"end"},j))))))}
function drawScatter(t,D){const{width:az,height:F}=SMALL;
return h("figure",{key:`against ${t.name}`,class:"curve"},h("figcaption",{class:"line"},h("span",{class:"name cut",title:t.name},t.name)),h("svg",{viewBox:`0 0 ${az} ${F}`,role:"img","aria-label":t.words},t.levels.map(({y:C,label:j})=>h("g",{key:j},h("path",{d:`M52 ${C}H${az}`,class:"level"}),h("text",{x:47,y:C+4,"text-anchor":"end"},j))),t.below.map(({x:n,label:j})=>h("text",{key:`at ${j}`,x:n,y:F-5,"text-anchor":"middle"},j)),h("path",{class:`dots c${D}`,d:t.others}),h("circle",{class:`curve-end c${D}`,cx:t.best.x,cy:t.best.y,r:3.5}),h("text",{class:"star",x:t.best.x,y:t.best.y-6,"text-anchor":"middle"},"★")))}
const STOPS=["Stop","Interrupt","Kill"];
const STEPS=["after its next report","now, with KeyboardInterrupt","at once, by ending its processes"];
function stopButton(a,c){if(!a.stop)return null;
const{label:j,about:r,order:aG}=a.stop;
const ai={"data-id":aG,"data-name":a.name};
if(c.asked.has(aG))return button("asked…",{...ai,class:"aside","aria-label":`${j} ${a.name}`,disabled:true});
const bb=`${j} ${a.name} ${r}`;
if(!a.owner)return button(j,{...ai,class:"aside","data-act":"cancel-run","aria-label":`${j} ${a.name}`,title:bb});
if(c.doubted!==aG){return button(`${j}…`,{...ai,class:"aside","data-act":"doubt","data-owner":a.owner,"aria-label":`${j} ${a.name} of ${a.owner}`,title:bb})}
return h("span",{class:"ask nowrap aside"},button("Keep",{...ai,"data-act":"keep","aria-label":`Keep ${a.name} of ${a.owner}`})," ",button(`${j} it`,{...ai,"data-act":"cancel-run",class:"urgent","aria-label":`${j} ${a.name} of ${a.owner} all the same`}))}
const TRIAL_SIGNS={pending:"◌",running:"●",done:"✓",stopped:"⊘",error:"✕"};
const MOST_COLUMNS=5;
const MOST_NAMED=3;
const orders=new Map();
function drawTrials(r,M){if(!M?.rows.size)return[r.view.underWay&&empty("Asking for the trials …")];
const O=trialsOf(r.experiment,M);
const o=r.experiment.shown||r.experiment.metric||"";
const aZ=o?overlaidShape(O.trials,o):null;
return[...drawFailures(O),tableOf(O,o,r),aZ&&drawOverlaid(aZ,plain(o),r.view.colour),...(r.view.underWay?[]:drawEnd(O,o,r.view.colour))]}
function drawEnd({trials:e,names:I},o,D){const a_=parallelShape(e,I,o);
const a7=scatterShapes(e,I,o);
return[a_&&drawParallel(a_,D),a7.length>0&&h("div",{key:"scatters",class:"curves",role:"group","aria-label":`${plain(o)} against each parameter`},a7.map((t)=>drawScatter(t,D)))]}
function drawFailures({failures:aR}){if(!aR.length)return[];
const ar=({error:aa,trials:e})=>{const by=e.slice(0,MOST_NAMED).map(({short:af})=>af).join(", ")+(e.length>MOST_NAMED?", …":"");
return h("li",{key:aa},h("span",{class:"state failed"},h("span",{class:"sign","aria-hidden":"true"},"✕"),` ${count(e.length,"trial")} failed: `),aa," ",h("span",{class:"quiet"},by))};
return[h("ul",{key:"failures",class:"lines","aria-label":"Failures"},aR.map(ar))]}
function tableOf(O,o,r){const{id:l,name:d}=r.view;
const I=O.names.slice(0,MOST_COLUMNS);
const e=inOrder(O.trials,r);
const ad={device:e.some(({row:i})=>deviceWords(i.devices)),why:e.some(({row:i})=>i.waits)};
const bf=["Trial","State",...I.map(plain),...(o?[plain(o),"Curve"]:[]),...(ad.device?["Device"]:[]),"Took",...(ad.why?["Why"]:[]),""];
const a8=r.state.sights.get(l)??{top:0,height:460,row:33};
const{first:y,last:B}=inSight(e.length,a8);
const M=e.slice(y,B).map((m)=>drawRow(m,I,o,ad,r));
const aS=(bx,a5)=>a5>0&&h("tr",{key:bx,class:"gap","aria-hidden":"true",style:`height:${Math.round(a5*a8.row)}px`});
const bu=([aS("above",y),...M,aS("below",e.length-B)].filter(Boolean));
return table(`Trials of ${d}`,bf,bu,{rows:e.length,sight:l})}
function inOrder(e,{view:f,state:c}){const ac=c.heldSight===f.id?orders.get(f.id):null;
if(!ac){orders.set(f.id,e);
return e}
const s=new Map(e.map((m)=>[m.id,m]));
const bv=ac.map(({id:l})=>s.get(l)).filter((m)=>m!==undefined);
const known=new Set(ac.map(({id:l})=>l));
return[...bv,...e.filter(({id:l})=>!known.has(l))]}
function drawRow(m,I,o,ad,r){const{row:i,state:c}=m;
const al=c==="running"?` ink c${r.view.colour}`:"";
const Z=m.value!=null?reading(m.value):plain(i.value==null?"":String(i.value));
const ar=sparkPath(m);
const bi=deviceWords(i.devices);
return h("tr",{key:m.id,"data-trial":m.id},h("th",{scope:"row",title:plain(m.id)},h("span",{class:"name"},m.short)),h("td",{class:`nowrap state ${c==="error"?"failed":c==="pending"?"waiting":c}`},h("span",{class:`sign${al}`,"aria-hidden":"true"},TRIAL_SIGNS[c]??"◌"),` ${i.waits&&r.view.underWay?"waiting":c}`),I.map((d)=>h("td",{key:d,class:"nowrap"},h("span",{class:"cut",title:paramWords(m.params[d])},paramWords(m.params[d])))),o&&cell(Z,"nowrap"),o&&h("td",{class:"trend"},ar&&h("svg",{class:"spark",viewBox:"0 0 64 16",preserveAspectRatio:"none",role:"img","aria-label":`${count(i.reports??0,"report")}`},h("path",{d:ar}))),ad.device&&cell(bi,"nowrap"),cell(tookWords(m,r),"nowrap"),ad.why&&cell(whyOf(m,r),"why"),cell([stopButton(stoppable(m,r),r.state),copyButton(m)],"acts"))}
function tookWords({row:i,state:c},{view:f,now:s}){if(!i.started_at)return"";
if(i.ended_at)return duration(i.ended_at-i.started_at);
return c==="running"&&f.underWay?age(s-i.started_at):""}
function whyOf({id:l,row:i},{view:f,whys:aL}){if(!i.waits||!f.underWay)return"";
return aL.get(`${f.name} ${plain(l)}`)??"its process is being started"}
function stoppable({id:l,short:af,row:i,state:c},{view:f}){const J=Math.min(i.stops??0,STOPS.length-1);
const bl=f.underWay&&(c==="running"||c==="pending");
const r=c==="pending"?"before it begins":STEPS[J];
return{name:`trial ${af}`,owner:f.owner,stop:bl?{label:STOPS[J],about:r,order:`${f.id}/${i.stops??0}/${l}`}:null}}
function copyButton({short:af,row:i}){const ba=pythonOf(i.config??{});
return button("Config",{"data-act":"copy","data-text":ba,"data-name":`the config of trial ${af}`,"aria-label":`Copy the config of trial ${af}`,title:`Copy ${plain(ba)}`})}
const EXPERIMENT_SIGNS={running:"●",stopping:"●",finished:"✓",stopped:"⊘",failed:"✕"};
const MOST_PARAMETERS=4;
function goesOn(k){return["running","stopping"].includes(k.state??"running")}
function experimentView(k,s,u){const K=goesOn(k)&&!u;
const c=goesOn(k)&&u?"ended with it":(k.state??"running");
const J=Math.min(k.stops??0,STOPS.length-1);
return{id:k.id,name:plain(k.name),owner:plain(k.owner),state:c,sign:c==="ended with it"?"–":(EXPERIMENT_SIGNS[c]??"◌"),colour:k.hue*PALETTE.hues[0].length,underWay:K,time:k.started_at?age((k.ended_at??s)-k.started_at):"",progress:trialWords(k),metrics:bestWords(k),best:bestWords(k,Infinity),why:plain(k.why),path:plain(k.path),goOn:K||c==="finished"?"":`tune.Tuner.restore(${JSON.stringify(k.path)}, trainable)`,stop:K?{label:STOPS[J],about:STEPS[J],order:`${k.id}/${k.stops??0}`}:null}}
function trialWords({counts:S={},total:bc}){const u=["done","stopped","error"].reduce((bw,c)=>bw+(S[c]??0),0);
const Z=bc==null?`${count(u,"trial")} ended`:`${u} of ${count(bc,"trial")} ended`;
return[Z,S.running?`${S.running} running`:"",S.error?`${S.error} failed`:""].filter(Boolean).join(" · ")}
function bestWords({best:H,metric:o},au=MOST_PARAMETERS){if(!H)return"";
const G=Object.entries(H.config).map(([d,b])=>`${plain(d)} ${plain(b)}`);
const Z=G.slice(0,au).join(", ")+(G.length>au?", …":"");
return`${plain(o)} ${reading(H.value)}${Z&&` with ${Z}`}`}
function head(a,c,d,be){const aB=[a.owner,a.time,a.progress,be&&a.metrics].filter(Boolean).join(" · ");
return h("div",{class:"line head",key:"head"},d,stateOf(a),h("span",{class:"facts quiet"},aB),stopButton(a,c))}
function stateOf({state:c,sign:aI,colour:D}){const al=c==="running"?` ink c${D}`:"";
return h("span",{class:`nowrap state ${c}`},h("span",{class:`sign${al}`,"aria-hidden":"true"},aI),` ${c}`)}
function openExperiments({experiments:X=[]},c){const K=X.filter(goesOn).slice(0,1);
const y=new Set((K.length?K:X.slice(0,1)).map(({id:l})=>l));
return X.map(({id:l})=>l).filter((l)=>y.has(l)!==c.open.has(l))}
function drawExperiments(q,s,u,c,T){const X=q.experiments??[];
if(!X.length)return[];
const ae=new Set(openExperiments(q,c));
const aL=waitsOf(T);
const M=X.map((k)=>{const f=experimentView(k,s,u);
const aq=ae.has(f.id);
const d=h("button",{type:"button",class:"opens","data-act":"group","data-function":f.id,"aria-expanded":String(aq)},h("span",{"aria-hidden":"true"},aq?"▾ ":"▸ "),nameOf(f.name));
return h("li",{key:f.id},head(f,c,d,!aq),aq&&h("div",{class:"run"},trialDetails({view:f,experiment:k,state:c,now:s,whys:aL})))});
return[h("ul",{class:"runs",key:"experiments","aria-label":"Experiments"},M)]}
function drawExperiment(k,s,u,c,T){const f=experimentView(k,s,u);
return[head(f,c,nameOf(f.name),false),h("div",{class:"run",key:"run"},trialDetails({view:f,experiment:k,state:c,now:s,whys:waitsOf(T)}))]}
function trialDetails(r){const{view:f,state:c}=r;
const aQ=f.state==="failed";
return[f.why&&h("p",{key:"why",class:aQ?"attention":""},aQ&&h("strong",{},h("span",{"aria-hidden":"true"},"⚠ "),"Attention: "),f.why),f.best&&h("p",{key:"best"},`best: ${f.best} (trial ${plain(r.experiment.best?.id)})`),...drawTrials(r,c.past[`rows/${f.id}`]?.data??null),h("p",{key:"path",class:"quiet path"},f.path),f.goOn&&empty("Go on:",f.goOn)]}
function waitsOf(T){const M=(T?.tasks??[]).filter((i)=>i.state.startsWith("PENDING"));
return new Map(M.map((i)=>[plain(i.name),plain(i.reason==null?i.why:T?.reasons?.[i.reason])]))}
const WIDTH=280;
const HEIGHT=136;
const LEFT=46;
const FLOOR=HEIGHT-20;
const TOP=16;
const RIGHT=10;
function curveShape(g,ah){const p=g.points;
const[aM,U]=[p.map(([n])=>n),p.map(([,C])=>C)];
const[y,B]=[aM[0],aM[aM.length-1]];
const[v,z]=[Math.min(...U),Math.max(...U)];
const aV=isLogarithmic(v,z);
const F=aV?Math.log10:(b)=>b;
const[L,Q]=[F(v),F(z)];
const n=(E)=>round(LEFT+((E-y)/(B-y||1))*(WIDTH-LEFT-RIGHT));
const C=(b)=>round(TOP+(1-(Q>L?(F(b)-L)/(Q-L):0.5))*(FLOOR-TOP-6));
const at=ah.filter(({report:E})=>E>=y&&E<=B);
const H=at.find((br)=>br.best);
const d=plain(g.name);
return{name:d,last:reading(U[U.length-1]),line:p.map(([E,b],ab)=>`${ab?"L":"M"}${n(E)} ${C(b)}`).join(""),end:{x:n(B),y:C(U[U.length-1])},levels:(aV?logTicks(v,z):ticks(v,z)).map((b)=>({y:C(b),label:reading(b)})),reports:ticks(y,B).filter(Number.isInteger).map((b)=>({x:n(b),label:String(b)})),marks:at.map(({report:E})=>n(E)),best:H?n(H.report):null,words:[`${d} over ${count(B-y+1,"report")}: from ${reading(U[0])} to ${reading(U[U.length-1])}`,`between ${reading(v)} and ${reading(z)}`,at.length?count(at.length,"checkpoint"):"",H?`the best one at report ${H.report}`:""].filter(Boolean).join(", ")}}
function round(ak){return Math.round(ak*10)/10}
function drawCurves(an,D){if(!an.length)return null;
return h("div",{class:"curves",key:"curves"},an.map((g)=>drawCurve(g,D)))}
function drawCurve(g,D){return h("figure",{key:g.name,class:"curve"},h("figcaption",{class:"line"},h("span",{class:"name cut",title:g.name},g.name),h("span",{class:"last"},g.last)),h("svg",{viewBox:`0 0 ${WIDTH} ${HEIGHT}`,role:"img","aria-label":g.words},g.levels.map(({y:C,label:j})=>h("g",{key:j},h("path",{d:`M${LEFT} ${C}H${WIDTH}`,class:"level"}),h("text",{x:LEFT-5,y:C+4,"text-anchor":"end"},j))),g.reports.map(({x:n,label:j})=>h("text",{key:`at ${j}`,x:n,y:HEIGHT-5,"text-anchor":"middle"},j)),g.marks.length>0&&h("path",{class:"marks",d:g.marks.map((n)=>`M${n} ${FLOOR}v-6`).join("")}),g.best!=null&&h("path",{class:"best",d:`M${g.best} ${FLOOR}V14`}),g.best!=null&&h("text",{class:"star",x:g.best,y:11,"text-anchor":"middle"},"★"),h("path",{class:`curve-line c${D}`,d:g.line}),h("circle",{class:`curve-end c${D}`,cx:g.end.x,cy:g.end.y,r:2.5})))}
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
return{id:a.id,name:plain(a.name),owner:plain(a.owner),state:c,sign:c==="ended with it"?"–":signOf(c),colour:a.hue*PALETTE.hues[0].length,underWay:K&&!u,time:timeWords(a,s),progress:progressWords(a),gang:am.length?gangWords(a):"",metrics:metricWords(a),ranks:am.map((x)=>rankView(x,a)),rankCounts:rankCounts(am),curves:an.filter((g)=>g.points.length>1).map((g)=>curveShape(g,ah)),checkpoints:H&&`${count(ah.length,"checkpoint")}, best ${plain(H)}`,load:a.load??"",path:plain(a.path),why:plain(a.why),resume:K&&!u?"":resumeWords(a,c),stop:K&&!u?{label:STOPS[J],about:STEPS[J],order:`${a.id}/${a.stops??0}`}:null}}
function signOf(c){return SIGNS[c]??"◌"}
function rankView(x,a){const c=x.state??"waiting";
const E=x.report==null?"":`report ${x.report}`;
const aB=[c,E,deviceWords(x.devices),x.pid?`pid ${x.pid}`:"",plain(x.node)];
return{rank:x.rank,state:c,sign:signOf(c),colour:a.hue*PALETTE.hues[0].length+(x.rank%PALETTE.hues[0].length),report:E,title:`rank ${x.rank}: ${aB.filter(Boolean).join(", ")}`}}
function gangWords(a){const aD={};
for(const x of a.ranks??[]){for(const[a3,bo]of Object.entries(x.devices??{}))aD[a3]=[...new Set([...(aD[a3]??[]),...bo])]}
const bd=count((a.ranks??[]).length,"worker");
const aN=deviceWords(aD);
return[aN?`${bd} on ${aN}`:`${bd} with ${demandWords(a.each)} each`,a.backend].filter(Boolean).join(" · ")}
function progressWords(a){const known=a.epochs!=null&&a.epochs_done!=null;
const bm=known?`${amount(a.epochs_done??0)} of ${count(a.epochs??0,"epoch")}`:a.epoch==null?"":`epoch ${amount(a.epoch)}`;
const aE=a.left_s!=null&&isUnderWay(a)?`about ${age(a.left_s)} left`:"";
return[bm,aE,a.reports?count(a.reports,"report"):"no report yet"].filter(Boolean).join(" · ")}
function timeWords(a,s){return a.started_at?age((a.ended_at??s)-a.started_at):""}
function metricWords(a){return(a.curves??[]).slice(0,METRICS).map(({name:d,points:p})=>`${plain(d)} ${reading(p[p.length-1][1])}`).join(", ")}
function rankCounts(am){const S=new Map();
for(const{state:c="waiting"}of am)S.set(c,(S.get(c)??0)+1);
return[...S].map(([c,ak])=>`${ak} ${c}`).join(", ")}
function resumeWords(a,c){if(c==="finished")return"";
const aW=(a.checkpoints??[]).at(-1)?.name;
return`Resume: run the cell again; a run of the same name goes on from ${aW?plain(aW):"its beginning, since it has no checkpoint"}`}
const OPEN_AT_FIRST=2;
function drawRuns(q,s,u,c){const K=q.runs.filter(isUnderWay).slice(0,OPEN_AT_FIRST);
const y=new Set((K.length?K:q.runs.slice(0,1)).map((a)=>a.id));
const M=q.runs.map((a)=>{const f=runView(a,s,u);
return drawRun(f,c,y.has(a.id)!==c.open.has(f.id))});
return[M.length>0&&h("ul",{class:"runs",key:"runs","aria-label":"Training runs"},M),Boolean(q.more)&&h("p",{class:"quiet",key:"more"},`and ${count(q.more??0,"more run")}`)]}
function drawOneRun(q,s,u,c){const a=runView(q,s,u);
return[head(a,c,nameOf(a.name),false),h("div",{class:"run",key:"run"},details(a))]}
function drawBrief(q,s,u,c){if(u)return[];
const X=(q.experiments??[]).filter(goesOn).map((k)=>experimentView(k,s,false));
const a6=[...X,...q.runs.filter(isUnderWay).map((a)=>runView(a,s,false))];
if(!a6.length)return[];
return[h("ul",{class:"runs",key:"runs","aria-label":"Runs under way"},a6.map((a)=>h("li",{key:a.id},head(a,c,nameOf(a.name),true))))]}
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
const q={...aH,runs:(aH.runs??[]).map(M),experiments:aH.experiments??[]};
const ay=h("style",{key:"look of runs"},RUNS_STYLE);
const f=(s,u,T)=>({active:u?0:q.runs.filter(isUnderWay).length+(q.experiments??[]).filter(goesOn).length,draw:(c)=>[ay,...drawExperiments(q,s,u,c,T),...drawRuns(q,s,u,c)],brief(c){const R=drawBrief(q,s,u,c);
return R.length?[ay,...R]:[]},only(c){const[a,k]=[q.runs.find(({id:l})=>l===c.only),q.experiments?.find(({id:l})=>l===c.only)];
if(a)return[ay,...drawOneRun(a,s,u,c)];
return k?[ay,...drawExperiment(k,s,u,c,T)]:[]}});
f.open=(c)=>(c.only?(q.experiments??[]).map(({id:l})=>l).filter((l)=>l===c.only):openExperiments(q,c));
return f}
return viewOfRuns}
