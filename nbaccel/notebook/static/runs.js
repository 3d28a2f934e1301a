// A part of nbaccel's cockpit, joined from nbaccel/notebook/runs/ by tools/join_cockpit.py. Change it there.
export default function(bw){const{PALETTE,age,amount,button,cell,count,demandWords,deviceWords,duration,empty,h,inSight,nameOf,plain,rowsOf,table}=bw;
const LOG_FROM=100;
function ticks(v,z,count=4){if(!(z>v))return[v];
const a8=(z-v)/count;
const _=10**Math.floor(Math.log10(a8));
const J=_*([1,2,5,10].find((am)=>_*am>=a8*0.999)??10);
const ay=[];
for(let w=Math.ceil(v/J-1e-9);w<=Math.floor(z/J+1e-9);w++)ay.push(Number((w*J).toPrecision(12)));
return ay}
function logTicks(v,z){const[y,B]=[Math.ceil(Math.log10(v)-1e-9),Math.floor(Math.log10(z)+1e-9)];
const J=Math.max(1,Math.ceil((B-y)/4));
const a5=[];
for(let _=y;_<=B;_+=J)a5.push(10**_);
return a5}
function isLogarithmic(v,z){return v>0&&z/v>LOG_FROM}
function reading(b){const bd=Math.abs(b);
if(bd>=1e4&&bd<1e9)return b.toFixed(0);
const[bm,_]=b.toExponential(3).split("e");
const at=Number(_);
if(!b||(at>=-4&&at<4))return String(Number(b.toPrecision(4)));
return`${Number(bm)}e${at<0?"-":"+"}${String(Math.abs(at)).padStart(2,"0")}`}
const LETTERS="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const WITHOUT_VALUE={running:0,pending:1,done:2,stopped:3,error:4};
const known=new WeakMap();
function trialsOf(j,s){const ae=known.get(s);
if(ae)return ae;
const g=[...s.rows].map(([n,k])=>trialOf(n,k));
const a0={trials:bestFirst(g,j.mode??""),names:varying(g),failures:failuresOf(g)};
known.set(s,a0);
return a0}
function shortTrial(n){return plain(n.split("_").at(-1))}
function trialOf(n,k){return{id:n,short:shortTrial(n),row:k,state:k.state??"pending",params:flat(k.config??{}),value:typeof k.value==="number"?k.value:null,points:pointsOf(k)}}
function bestFirst(g,aH){const aK=aH==="max"?-1:1;
const w=(f)=>(f.value!=null&&aH?-1:(WITHOUT_VALUE[f.state]??5));
return[...g].sort((X,Y)=>{if(!aH)return X.row.number-Y.row.number;
const y=w(X)-w(Y);
if(y||X.value==null||Y.value==null)return y||X.row.number-Y.row.number;
return aK*(X.value-Y.value)||X.row.number-Y.row.number})}
function flat(bj,a6=""){const O={};
for(const[d,b]of Object.entries(bj)){const bv=b&&typeof b==="object"&&!Array.isArray(b)&&Object.keys(b).length;
if(bv)Object.assign(O,flat(b,`${a6}${d}/`));
else O[a6+d]=b}
return O}
function varying(g){const aa=new Map();
for(const{params:G}of g)for(const d of Object.keys(G))aa.set(d,new Set());
for(const{params:G}of g)for(const[d,az]of aa)if(az.size<2)az.add(JSON.stringify(G[d])??"");
return[...aa].filter(([,az])=>g.length<2||az.size>1).map(([d])=>d)}
function failuresOf(g){const aE=new Map();
for(const f of g){const ac=plain(f.row.error);
if(!ac)continue;
const aX=aE.get(ac)??{error:ac,trials:[]};
aX.trials.push(f);
aE.set(ac,aX)}
return[...aE.values()].sort((X,Y)=>Y.trials.length-X.trials.length)}
function pointsOf({curve:i}){if(!i)return[];
const[v,z]=i.log?[Math.log10(i.low),Math.log10(i.high)]:[i.low,i.high];
const ay=Math.max(1,i.letters.length-1);
const r=[];
[...i.letters].forEach((bs,w)=>{const a3=LETTERS.indexOf(bs);
const F=v+((z-v)*a3)/63;
const b=i.log?10**F:F;
if(a3>=0)r.push([Math.round(i.first+((i.last-i.first)*w)/ay),b])});
return r}
function paramWords(b){if(b===undefined)return"";
if(typeof b==="number"&&!Number.isInteger(b))return reading(b);
return plain(typeof b==="string"?b:pythonOf(b))}
function pythonOf(b){if(b===null||b===undefined)return"None";
if(b===true||b===false)return b?"True":"False";
if(Array.isArray(b))return`[${b.map(pythonOf).join(", ")}]`;
if(typeof b==="object")return`{${Object.entries(b).map(([d,am])=>`${JSON.stringify(d)}: ${pythonOf(am)}`).join(", ")}}`;
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
const AXIS_ROOM=66;
const MOST_WORDS=10;
function rounded(an){return Math.round(an*10)/10}
function scaleOf(aa,L,Q){let[v,z]=[Infinity,-Infinity];
for(const b of aa)[v,z]=[Math.min(v,b),Math.max(z,b)];
const a$=isLogarithmic(v,z);
const F=a$?Math.log10:(b)=>b;
const[y,B]=[F(v),F(z)];
const N=(b)=>rounded(L+(B>y?(F(b)-y)/(B-y):0.5)*(Q-L));
return{at:N,levels:(a$?logTicks(v,z):ticks(v,z)).map((b)=>({y:N(b),label:reading(b)}))}}
function layers(S){return{best:S[0]??"",front:S.slice(1,1+IN_FRONT),others:S.slice(1+IN_FRONT).join("")}}
function overlaidShape(g,o,R=WIDE){const A=g.filter(({points:r})=>r.length>1).slice(0,MOST_LINES);
if(!A.length)return null;
const aT=A.flatMap(({points:r})=>r);
const ab=scaleOf([0,1],MARGIN,R-10);
const B=aT.reduce((U,[q])=>Math.max(U,q),1);
const q=(E)=>ab.at(E/B);
const{at:N,levels:P}=scaleOf(aT.map(([,b])=>b),TALL-BELOW,CEILING);
const S=A.map(({points:r})=>r.map(([E,b],ad)=>`${ad?"L":"M"}${q(E)} ${N(b)}`).join(""));
const aG=g.length-A.length;
return{...layers(S),wide:R,levels:P,reports:ticks(0,B).filter(Number.isInteger).map((E)=>({x:q(E),label:String(E)})),words:`${plain(o)} over ${count(B+1,"report")} of ${count(A.length,"trial")}, the best in front: ${A[0].short}, ${lastWords(A[0])}`,left:aG}}
function lastWords({value:b,points:r}){return`now ${reading(b??r[r.length-1][1])}`}
function axisOf(d,aa,L,Q){const aL=aa.filter((b)=>b!==undefined&&b!==null);
if(aL.length&&aL.every((b)=>typeof b==="number"&&Number.isFinite(b))){const{at:N,levels:P}=scaleOf(aL,L,Q);
return{name:plain(d),at:(b)=>(typeof b==="number"?N(b):null),levels:P}}
const ar=[...new Set(aa.map(paramWords))].sort();
if(ar.length>MOST_WORDS)return null;
const{at:N}=scaleOf([0,Math.max(1,ar.length-1)],L,Q);
const P=ar.map((l,w)=>({y:N(w),label:l.length>10?`${l.slice(0,9)}…`:l}));
return{name:plain(d),at:(b)=>N(ar.indexOf(paramWords(b))),levels:P}}
function parallelShape(g,I,o,R=WIDE){const A=g.filter(({value:b})=>b!=null).slice(0,MOST_LINES);
const[L,Q]=[TALL-8,26];
const U=Math.min(MOST_AXES,Math.floor((R-MARGIN-24)/AXIS_ROOM));
const s=I.slice(0,U).map((d)=>({name:d,axis:axisOf(d,A.map(({params:G})=>G[d]),L,Q)}));
const aM=s.filter(({axis:aj})=>aj);
if(A.length<2||!aM.length)return null;
const aY=[...aM.map(({name:d,axis:aj})=>(f)=>aj?.at(f.params[d])??null)];
const B=(axisOf(o,A.map(({value:b})=>b),L,Q));
aY.push((f)=>B.at(f.value));
const aC=[...aM.map(({axis:aj})=>(aj)),B];
const aP=(R-MARGIN-24)/(aC.length-1);
const q=(w)=>rounded(MARGIN+w*aP);
const S=A.map((f)=>{const r=aY.map((F,w)=>({x:q(w),y:F(f)})).filter(({y:C})=>C!=null);
return r.map((a4,ad)=>`${ad?"L":"M"}${a4.x} ${a4.y}`).join("")});
return{...layers(S),wide:R,axes:aC.map(({name:d,levels:P},w)=>({name:cutTo(Math.floor(aP/8),d),x:q(w),levels:P})),bottom:L,top:Q,words:`Parallel coordinates of ${count(A.length,"trial")}: ${aC.map(({name:d})=>d).join(", ")}; the best in front: ${wordsOfBest(A[0],I,o)}`}}
function cutTo(U,ai){return ai.length>U?`${ai.slice(0,U-1)}…`:ai}
function wordsOfBest({params:G,value:b},I,o){const $=I.slice(0,MOST_AXES).map((d)=>`${plain(d)} ${paramWords(G[d])}`);
return[...$,`${plain(o)} ${reading(b??0)}`].join(", ")}
function scatterShape(g,d,o){const A=g.filter(({value:b,params:G})=>b!=null&&G[d]!==undefined);
const{width:aB,height:F}=SMALL;
const ab=A.length>1?axisOf(d,A.map(({params:G})=>G[d]),MARGIN,aB-14):null;
if(!ab)return null;
const{at:N,levels:P}=scaleOf(A.map(({value:b})=>b??0),F-BELOW,CEILING+8);
const[H,...ax]=A.map(({params:G,value:b})=>({x:ab.at(G[d])??MARGIN,y:N(b??0)}));
return{name:plain(d),best:H,others:ax.map((aR)=>`M${aR.x} ${aR.y}h0`).join(""),levels:P,below:ab.levels.map(({y:C,label:l})=>({x:C,label:l})),words:`${plain(o)} against ${plain(d)} of ${count(A.length,"trial")}, the best at ${paramWords(A[0].params[d])}`}}
function scatterShapes(g,I,o){return I.slice(0,MOST_AXES).map((d)=>scatterShape(g,d,o)).filter((p)=>p!==null)}
function sparkPath({points:r}){if(r.length<2)return"";
const bn=scaleOf(r.map(([,b])=>b),15,1);
const ab=scaleOf([r[0][0],r[r.length-1][0]],0,64);
const bt=(q)=>rounded(((q-r[0][0])/(r[r.length-1][0]-r[0][0]||1))*64);
return ab&&r.map(([q,b],ad)=>`${ad?"L":"M"}${bt(q)} ${bn.at(b)}`).join("")}
function drawLayers({best:H,front:bq,others:ax},D){return[ax&&h("path",{key:"others",class:"other",d:ax}),...bq.map((bk,w)=>h("path",{key:`front ${w}`,class:`front c${D}`,d:bk})).reverse(),h("path",{key:"best",class:`curve-line c${D}`,d:H})]}
function drawOverlaid(p,o,D){return h("figure",{key:"overlaid",class:"curve wide"},h("figcaption",{class:"line"},h("span",{class:"name cut"},o),h("span",{class:"quiet"},"over reports, the best in front")),h("svg",{viewBox:`0 0 ${p.wide} ${TALL}`,role:"img","aria-label":p.words},p.levels.map(({y:C,label:l})=>h("g",{key:l},h("path",{d:`M52 ${C}H${p.wide}`,class:"level"}),h("text",{x:47,y:C+4,"text-anchor":"end"},l))),p.reports.map(({x:q,label:l})=>h("text",{key:`at ${l}`,x:q,y:TALL-5,"text-anchor":"middle"},l)),drawLayers(p,D)))}
function drawParallel(p,D){return h("figure",{key:"parallel",class:"curve wide"},h("figcaption",{class:"line"},h("span",{class:"name"},"Parameters"),h("span",{class:"quiet"},"and what came of them, the best in front")),h("svg",{viewBox:`0 0 ${p.wide} ${TALL}`,role:"img","aria-label":p.words},drawLayers(p,D),p.axes.map(({name:d,x:q,levels:P},w)=>h("g",{key:d},h("path",{class:"axis-line",d:`M${q} ${p.top}V${p.bottom}`}),h("text",{class:"axis-name",x:w?q:q-40,y:14,"text-anchor":w===0?"start":w===p.axes.length-1?"end":"middle",...(w===p.axes.length-1?{x:p.wide}:{})},d),P.map(({y:C,label:l})=>h("text",{key:l,x:q-5,y:C+4,"text-anchor":"end"},l))))))}
function drawScatter(p,D){const{width:aB,height:F}=SMALL;
return h("figure",{key:`against ${p.name}`,class:"curve"},h("figcaption",{class:"line"},h("span",{class:"name cut",title:p.name},p.name)),h("svg",{viewBox:`0 0 ${aB} ${F}`,role:"img","aria-label":p.words},p.levels.map(({y:C,label:l})=>h("g",{key:l},h("path",{d:`M52 ${C}H${aB}`,class:"level"}),h("text",{x:47,y:C+4,"text-anchor":"end"},l))),p.below.map(({x:q,label:l})=>h("text",{key:`at ${l}`,x:q,y:F-5,"text-anchor":"middle"},l)),h("path",{class:`dots c${D}`,d:p.others}),h("circle",{class:`curve-end c${D}`,cx:p.best.x,cy:p.best.y,r:3.5}),h("text",{class:"star",x:p.best.x,y:p.best.y-6,"text-anchor":"middle"},"★")))}
const STOPS=["Stop","Interrupt","Kill"];
const STEPS=["after its next report","now, with KeyboardInterrupt","at once, by ending its processes"];
function stopButton(a,c){if(!a.stop)return null;
const{label:l,about:m,order:aI}=a.stop;
const al={"data-id":aI,"data-name":a.name};
if(c.asked.has(aI))return button("asked…",{...al,class:"aside","aria-label":`${l} ${a.name}`,disabled:true});
const be=`${l} ${a.name} ${m}`;
if(!a.owner)return button(l,{...al,class:"aside","data-act":"cancel-run","aria-label":`${l} ${a.name}`,title:be});
if(c.doubted!==aI){return button(`${l}…`,{...al,class:"aside","data-act":"doubt","data-owner":a.owner,"aria-label":`${l} ${a.name} of ${a.owner}`,title:be})}
return h("span",{class:"ask nowrap aside"},button("Keep",{...al,"data-act":"keep","aria-label":`Keep ${a.name} of ${a.owner}`})," ",button(`${l} it`,{...al,"data-act":"cancel-run",class:"urgent","aria-label":`${l} ${a.name} of ${a.owner} all the same`}))}
const TRIAL_SIGNS={pending:"◌",running:"●",done:"✓",stopped:"⊘",error:"✕",interrupted:"⊘"};
const MOST_COLUMNS=5;
const MOST_NAMED=3;
const orders=new Map();
function drawTrials(m,M){if(!M?.rows.size)return[m.view.underWay&&empty("Asking for the trials …")];
const O=trialsOf(m.experiment,M);
const o=m.experiment.shown||m.experiment.metric||"";
const R=Math.min(WIDE,m.state.room-24);
const a1=o?overlaidShape(O.trials,o,R):null;
return[...drawFailures(O),tableOf(O,o,m),a1&&drawOverlaid(a1,plain(o),m.view.colour),...(m.view.underWay?[]:drawEnd(O,o,m.view.colour,R))]}
function drawEnd({trials:g,names:I},o,D,R){const a2=parallelShape(g,I,o,R);
const bb=scatterShapes(g,I,o);
return[a2&&drawParallel(a2,D),bb.length>0&&h("div",{key:"scatters",class:"curves",role:"group","aria-label":`${plain(o)} against each parameter`},bb.map((p)=>drawScatter(p,D)))]}
function drawFailures({failures:aV}){if(!aV.length)return[];
const av=({error:ac,trials:g})=>{const bB=g.slice(0,MOST_NAMED).map(({short:ah})=>ah).join(", ")+(g.length>MOST_NAMED?", …":"");
return h("li",{key:ac},h("span",{class:"state failed"},h("span",{class:"sign","aria-hidden":"true"},"✕"),` ${count(g.length,"trial")} failed: `),ac," ",h("span",{class:"quiet"},bB))};
return[h("ul",{key:"failures",class:"lines","aria-label":"Failures"},aV.map(av))]}
function tableOf(O,o,m){const{id:n,name:d}=m.view;
const I=O.names.slice(0,MOST_COLUMNS);
const g=inOrder(O.trials,m);
const af={device:g.some((f)=>deviceOf(f,m)),why:g.some(({row:k})=>k.waits)};
const bi=["Trial","State",...I.map(plain),...(o?[plain(o),"Curve"]:[]),...(af.device?["Device"]:[]),"Took",...(af.why?["Why"]:[]),""];
const bc=m.state.sights.get(n)??{top:0,height:460,row:33};
const{first:y,last:B}=inSight(g.length,bc);
const M=g.slice(y,B).map((f)=>drawRow(f,I,o,af,m));
const aW=(bA,a9)=>a9>0&&h("tr",{key:bA,class:"gap","aria-hidden":"true",style:`height:${Math.round(a9*bc.row)}px`});
const bx=([aW("above",y),...M,aW("below",g.length-B)].filter(Boolean));
return table(`Trials of ${d}`,bi,bx,{rows:g.length,sight:n})}
function inOrder(g,{view:e,state:c}){const ae=c.heldSight===e.id?orders.get(e.id):null;
if(!ae){orders.set(e.id,g);
return g}
const t=new Map(g.map((f)=>[f.id,f]));
const by=ae.map(({id:n})=>t.get(n)).filter((f)=>f!==undefined);
const known=new Set(ae.map(({id:n})=>n));
return[...by,...g.filter(({id:n})=>!known.has(n))]}
function drawRow(f,I,o,af,m){const{row:k}=f;
const c=trialState(f,m);
const ao=c==="running"?` ink c${m.view.colour}`:"";
const $=f.value!=null?reading(f.value):plain(k.value==null?"":String(k.value));
const av=sparkPath(f);
const bl=deviceOf(f,m);
return h("tr",{key:f.id,"data-trial":f.id},h("th",{scope:"row",title:plain(f.id)},h("span",{class:"name"},f.short)),h("td",{class:`nowrap state ${c==="error"?"failed":c==="pending"?"waiting":c}`},h("span",{class:`sign${ao}`,"aria-hidden":"true"},TRIAL_SIGNS[c]??"◌"),` ${k.waits&&m.view.underWay?"waiting":c}`),I.map((d)=>h("td",{key:d,class:"nowrap","data-head":plain(d)},h("span",{class:"cut",title:paramWords(f.params[d])},paramWords(f.params[d])))),o&&h("td",{class:"nowrap","data-head":plain(o)},$),o&&h("td",{class:"trend"},av&&h("svg",{class:"spark",viewBox:"0 0 64 16",preserveAspectRatio:"none",role:"img","aria-label":`${count(k.reports??0,"report")}`},h("path",{d:av}))),af.device&&cell(bl,"nowrap"),cell(tookWords(f,m),"nowrap"),af.why&&cell(whyOf(f,m),"why"),cell([stopButton(stoppable(f,m),m.state),copyButton(f)],"acts"))}
function trialState({row:k,state:c},{view:e}){return!e.underWay&&k.started_at&&["running","pending"].includes(c)?"interrupted":c}
function deviceOf(f,m){return trialState(f,m)==="interrupted"?"":deviceWords(f.row.devices)}
function tookWords({row:k,state:c},{view:e,experiment:j,now:t}){if(!k.started_at)return"";
const aS=k.ended_at??(e.underWay?null:j.ended_at);
if(aS)return duration(aS-k.started_at);
return c==="running"&&e.underWay?age(t-k.started_at):""}
function whyOf({id:n,row:k},{view:e,whys:aN}){if(!k.waits||!e.underWay)return"";
return aN.get(`${e.name} ${plain(n)}`)??"its process is being started"}
function stoppable({id:n,short:ah,row:k,state:c},{view:e}){const J=Math.min(k.stops??0,STOPS.length-1);
const bo=e.underWay&&(c==="running"||c==="pending");
const m=c==="pending"?"before it begins":STEPS[J];
return{name:`trial ${ah}`,owner:e.owner,stop:bo?{label:STOPS[J],about:m,order:`${e.id}/${k.stops??0}/${n}`}:null}}
function copyButton({short:ah,row:k}){const ai=pythonOf(k.config??{});
return button("Config",{"data-act":"copy","data-text":ai,"data-name":`the config of trial ${ah}`,"aria-label":`Copy the config of trial ${ah}`,title:`Copy ${plain(ai)}`})}
const EXPERIMENT_SIGNS={running:"●",stopping:"●",finished:"✓",stopped:"⊘",failed:"✕"};
const MOST_PARAMETERS=4;
function goesOn(j){return["running","stopping"].includes(j.state??"running")}
function experimentView(j,t,u){const K=goesOn(j)&&!u;
const c=goesOn(j)&&u?"ended with it":(j.state??"running");
const J=Math.min(j.stops??0,STOPS.length-1);
return{id:j.id,name:plain(j.name),owner:plain(j.owner),state:c,sign:c==="ended with it"?"–":(EXPERIMENT_SIGNS[c]??"◌"),colour:j.hue*PALETTE.hues[0].length,underWay:K,time:j.started_at?age((j.ended_at??t)-j.started_at):"",progress:trialWords(j),metrics:bestWords(j),best:bestWords(j,Infinity),why:plain(j.why),path:plain(j.path),goOn:K||c==="finished"?"":`tune.Tuner.restore(${JSON.stringify(j.path)}, trainable)`,stop:K?{label:STOPS[J],about:STEPS[J],order:`${j.id}/${j.stops??0}`}:null}}
function trialWords({counts:T={},total:bf}){const u=["done","stopped","error"].reduce((bz,c)=>bz+(T[c]??0),0);
const $=bf==null?`${count(u,"trial")} ended`:`${u} of ${count(bf,"trial")} ended`;
return[$,T.running?`${T.running} running`:"",T.error?`${T.error} failed`:""].filter(Boolean).join(" · ")}
function bestWords({best:H,metric:o},U=MOST_PARAMETERS){if(!H)return"";
const G=Object.entries(H.config).map(([d,b])=>`${plain(d)} ${plain(b)}`);
const $=G.slice(0,U).join(", ")+(G.length>U?", …":"");
return`${plain(o)} ${reading(H.value)}${$&&` with ${$}`}`}
function head(a,c,d,bh){const aD=[a.owner,a.time,a.progress,bh&&a.metrics].filter(Boolean).join(" · ");
return h("div",{class:"line head",key:"head"},d,stateOf(a),h("span",{class:"facts quiet"},aD),stopButton(a,c))}
function stateOf({state:c,sign:aK,colour:D}){const ao=c==="running"?` ink c${D}`:"";
return h("span",{class:`nowrap state ${c}`},h("span",{class:`sign${ao}`,"aria-hidden":"true"},aK),` ${c}`)}
function openExperiments({experiments:Z=[]},c){const K=Z.filter(goesOn).slice(0,1);
const y=new Set((K.length?K:Z.slice(0,1)).map(({id:n})=>n));
return Z.map(({id:n})=>n).filter((n)=>y.has(n)!==c.open.has(n))}
function drawExperiments(s,t,u,c,V){const Z=s.experiments??[];
if(!Z.length)return[];
const ag=new Set(openExperiments(s,c));
const aN=waitsOf(V);
const M=Z.map((j)=>{const e=experimentView(j,t,u);
const au=ag.has(e.id);
const d=h("button",{type:"button",class:"opens","data-act":"group","data-function":e.id,"aria-expanded":String(au)},h("span",{"aria-hidden":"true"},au?"▾ ":"▸ "),nameOf(e.name));
return h("li",{key:e.id},head(e,c,d,!au),au&&h("div",{class:"run"},trialDetails({view:e,experiment:j,state:c,now:t,whys:aN})))});
return[h("ul",{class:"runs",key:"experiments","aria-label":"Experiments"},M)]}
function drawExperiment(j,t,u,c,V){const e=experimentView(j,t,u);
return[head(e,c,nameOf(e.name),false),h("div",{class:"run",key:"run"},trialDetails({view:e,experiment:j,state:c,now:t,whys:waitsOf(V)}))]}
function trialDetails(m){const{view:e,state:c}=m;
const aU=e.state==="failed";
return[e.why&&h("p",{key:"why",class:aU?"attention":""},aU&&h("strong",{},h("span",{"aria-hidden":"true"},"⚠ "),"Attention: "),e.why),e.best&&h("p",{key:"best"},`best: ${e.best} (trial ${shortTrial(m.experiment.best?.id??"")})`),...drawTrials(m,c.past[`rows/${e.id}`]?.data??null),h("p",{key:"path",class:"quiet path"},e.path),e.goOn&&empty("Go on:",e.goOn)]}
function waitsOf(V){const M=(V?.tasks??[]).filter((k)=>k.state.startsWith("PENDING"));
return new Map(M.map((k)=>[plain(k.name),plain(k.reason==null?k.why:V?.reasons?.[k.reason])]))}
const WIDTH=280;
const HEIGHT=136;
const LEFT=46;
const FLOOR=HEIGHT-20;
const TOP=16;
const RIGHT=10;
function curveShape(i,ak){const r=i.points;
const[aO,W]=[r.map(([q])=>q),r.map(([,C])=>C)];
const[y,B]=[aO[0],aO[aO.length-1]];
const[v,z]=[Math.min(...W),Math.max(...W)];
const aZ=isLogarithmic(v,z);
const F=aZ?Math.log10:(b)=>b;
const[L,Q]=[F(v),F(z)];
const q=(E)=>round(LEFT+((E-y)/(B-y||1))*(WIDTH-LEFT-RIGHT));
const C=(b)=>round(TOP+(1-(Q>L?(F(b)-L)/(Q-L):0.5))*(FLOOR-TOP-6));
const aw=ak.filter(({report:E})=>E>=y&&E<=B);
const H=aw.find((bu)=>bu.best);
const d=plain(i.name);
return{name:d,last:reading(W[W.length-1]),line:r.map(([E,b],ad)=>`${ad?"L":"M"}${q(E)} ${C(b)}`).join(""),end:{x:q(B),y:C(W[W.length-1])},levels:(aZ?logTicks(v,z):ticks(v,z)).map((b)=>({y:C(b),label:reading(b)})),reports:ticks(y,B).filter(Number.isInteger).map((b)=>({x:q(b),label:String(b)})),marks:aw.map(({report:E})=>q(E)),best:H?q(H.report):null,words:[`${d} over ${count(B-y+1,"report")}: from ${reading(W[0])} to ${reading(W[W.length-1])}`,`between ${reading(v)} and ${reading(z)}`,aw.length?count(aw.length,"checkpoint"):"",H?`the best one at report ${H.report}`:""].filter(Boolean).join(", ")}}
function round(an){return Math.round(an*10)/10}
function drawCurves(aq,D){if(!aq.length)return null;
return h("div",{class:"curves",key:"curves"},aq.map((i)=>drawCurve(i,D)))}
function drawCurve(i,D){return h("figure",{key:i.name,class:"curve"},h("figcaption",{class:"line"},h("span",{class:"name cut",title:i.name},i.name),h("span",{class:"last"},i.last)),h("svg",{viewBox:`0 0 ${WIDTH} ${HEIGHT}`,role:"img","aria-label":i.words},i.levels.map(({y:C,label:l})=>h("g",{key:l},h("path",{d:`M${LEFT} ${C}H${WIDTH}`,class:"level"}),h("text",{x:LEFT-5,y:C+4,"text-anchor":"end"},l))),i.reports.map(({x:q,label:l})=>h("text",{key:`at ${l}`,x:q,y:HEIGHT-5,"text-anchor":"middle"},l)),i.marks.length>0&&h("path",{class:"marks",d:i.marks.map((q)=>`M${q} ${FLOOR}v-6`).join("")}),i.best!=null&&h("path",{class:"best",d:`M${i.best} ${FLOOR}V14`}),i.best!=null&&h("text",{class:"star",x:i.best,y:11,"text-anchor":"middle"},"★"),h("path",{class:`curve-line c${D}`,d:i.line}),h("circle",{class:`curve-end c${D}`,cx:i.end.x,cy:i.end.y,r:2.5})))}
const UNDER_WAY=["waiting","running","stopping","restarting"];
const SIGNS={waiting:"◌",restarting:"◌",running:"●",stopping:"●",finished:"✓",returned:"✓",stopped:"⊘",failed:"✕"};
const METRICS=4;
function isUnderWay(a){return UNDER_WAY.includes(a.state??"waiting")}
function runView(a,t,u){const K=isUnderWay(a);
const c=K&&u?"ended with it":(a.state??"waiting");
const ap=a.ranks??[];
const aq=a.curves??[];
const ak=a.checkpoints??[];
const H=ak.find((am)=>am.best)?.name??"";
const J=Math.min(a.stops??0,STOPS.length-1);
return{id:a.id,name:plain(a.name),owner:plain(a.owner),state:c,sign:c==="ended with it"?"–":signOf(c),colour:a.hue*PALETTE.hues[0].length,underWay:K&&!u,time:timeWords(a,t),progress:progressWords(a),gang:ap.length?gangWords(a):"",metrics:metricWords(a),ranks:ap.map((x)=>rankView(x,a)),rankCounts:rankCounts(ap),curves:aq.filter((i)=>i.points.length>1).map((i)=>curveShape(i,ak)),checkpoints:H&&`${count(ak.length,"checkpoint")}, best ${plain(H)}`,load:a.load??"",path:plain(a.path),why:plain(a.why),resume:K&&!u?"":resumeWords(a,c),stop:K&&!u?{label:STOPS[J],about:STEPS[J],order:`${a.id}/${a.stops??0}`}:null}}
function signOf(c){return SIGNS[c]??"◌"}
function rankView(x,a){const c=x.state??"waiting";
const E=x.report==null?"":`report ${x.report}`;
const aD=[c,E,deviceWords(x.devices),x.pid?`pid ${x.pid}`:"",plain(x.node)];
return{rank:x.rank,state:c,sign:signOf(c),colour:a.hue*PALETTE.hues[0].length+(x.rank%PALETTE.hues[0].length),report:E,title:`rank ${x.rank}: ${aD.filter(Boolean).join(", ")}`}}
function gangWords(a){const aF={};
for(const x of a.ranks??[]){for(const[a7,br]of Object.entries(x.devices??{}))aF[a7]=[...new Set([...(aF[a7]??[]),...br])]}
const bg=count((a.ranks??[]).length,"worker");
const aQ=deviceWords(aF);
return[aQ?`${bg} on ${aQ}`:`${bg} with ${demandWords(a.each)} each`,a.backend].filter(Boolean).join(" · ")}
function progressWords(a){const known=a.epochs!=null&&a.epochs_done!=null;
const bp=known?`${amount(a.epochs_done??0)} of ${count(a.epochs??0,"epoch")}`:a.epoch==null?"":`epoch ${amount(a.epoch)}`;
const aG=a.left_s!=null&&isUnderWay(a)?`about ${age(a.left_s)} left`:"";
return[bp,aG,a.reports?count(a.reports,"report"):"no report yet"].filter(Boolean).join(" · ")}
function timeWords(a,t){return a.started_at?age((a.ended_at??t)-a.started_at):""}
function metricWords(a){return(a.curves??[]).slice(0,METRICS).map(({name:d,points:r})=>`${plain(d)} ${reading(r[r.length-1][1])}`).join(", ")}
function rankCounts(ap){const T=new Map();
for(const{state:c="waiting"}of ap)T.set(c,(T.get(c)??0)+1);
return[...T].map(([c,an])=>`${an} ${c}`).join(", ")}
function resumeWords(a,c){if(c==="finished")return"";
const a_=(a.checkpoints??[]).at(-1)?.name;
return`Resume: run the cell again; a run of the same name goes on from ${a_?plain(a_):"its beginning, since it has no checkpoint"}`}
const OPEN_AT_FIRST=2;
function drawRuns(s,t,u,c){const K=s.runs.filter(isUnderWay).slice(0,OPEN_AT_FIRST);
const y=new Set((K.length?K:s.runs.slice(0,1)).map((a)=>a.id));
const M=s.runs.map((a)=>{const e=runView(a,t,u);
return drawRun(e,c,y.has(a.id)!==c.open.has(e.id))});
return[M.length>0&&h("ul",{class:"runs",key:"runs","aria-label":"Training runs"},M),Boolean(s.more)&&h("p",{class:"quiet",key:"more"},`and ${count(s.more??0,"more run")}`)]}
function drawOneRun(s,t,u,c){const a=runView(s,t,u);
return[head(a,c,nameOf(a.name),false),h("div",{class:"run",key:"run"},details(a))]}
function drawBrief(s,t,u,c){if(u)return[];
const Z=(s.experiments??[]).filter(goesOn).map((j)=>experimentView(j,t,false));
const ba=[...Z,...s.runs.filter(isUnderWay).map((a)=>runView(a,t,false))];
if(!ba.length)return[];
return[h("ul",{class:"runs",key:"runs","aria-label":"Runs under way"},ba.map((a)=>h("li",{key:a.id},head(a,c,nameOf(a.name),true))))]}
function drawRun(a,c,ag){const d=h("button",{type:"button",class:"opens","data-act":"group","data-function":a.id,"aria-expanded":String(ag)},h("span",{"aria-hidden":"true"},ag?"▾ ":"▸ "),nameOf(a.name));
return h("li",{key:a.id},head(a,c,d,!ag),ag&&h("div",{class:"run"},details(a)))}
function details(a){return[a.why&&h("p",{key:"why",class:a.state==="failed"?"attention":""},a.state==="failed"&&h("strong",{},h("span",{"aria-hidden":"true"},"⚠ "),"Attention: "),a.why),a.gang&&h("p",{key:"gang"},a.gang),a.ranks.length>0&&h("ul",{key:"ranks",class:"ranks","aria-label":`Ranks: ${a.rankCounts}`},a.ranks.map(drawRank)),drawCurves(a.curves,a.colour),a.checkpoints&&h("p",{key:"checkpoints"},a.curves.length?`${a.checkpoints}, marked ★`:a.checkpoints),a.load&&empty("Load the best one:",a.load),h("p",{key:"path",class:"quiet path"},a.path),a.resume&&h("p",{key:"resume",class:"quiet"},a.resume)]}
function drawRank(x){const ao=x.state==="running"?` ink c${x.colour}`:"";
return h("li",{key:String(x.rank),title:x.title,class:`state ${x.state}`},h("span",{class:"unseen"},"rank "),String(x.rank)," ",h("span",{class:`sign${ao}`,"aria-hidden":"true"},x.sign),h("span",{class:"unseen"},` ${x.state}`))}
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
function viewOfRuns(aJ){const M=(a)=>({...a,ranks:rowsOf(a.ranks),checkpoints:rowsOf(a.checkpoints)});
const s={...aJ,runs:(aJ.runs??[]).map(M),experiments:aJ.experiments??[]};
const aA=h("style",{key:"look of runs"},RUNS_STYLE);
const e=(t,u,V)=>({active:u?0:s.runs.filter(isUnderWay).length+(s.experiments??[]).filter(goesOn).length,draw:(c)=>[aA,...drawExperiments(s,t,u,c,V),...drawRuns(s,t,u,c)],brief(c){const S=drawBrief(s,t,u,c);
return S.length?[aA,...S]:[]},only(c){const[a,j]=[s.runs.find(({id:n})=>n===c.only),s.experiments?.find(({id:n})=>n===c.only)];
if(a)return[aA,...drawOneRun(a,t,u,c)];
return j?[aA,...drawExperiment(j,t,u,c,V)]:[]}});
e.open=(c)=>(c.only?(s.experiments??[]).map(({id:n})=>n).filter((n)=>n===c.only):openExperiments(s,c));
return e}
return viewOfRuns}
