// A part of nbaccel's cockpit, joined from nbaccel/notebook/runs/ by tools/join_cockpit.py. Change it there.
export default function(b4){const{PALETTE,age,amount,button,cell,count,demandWords,deviceWords,duration,empty,h,inSight,nameOf,plain,rowsOf,table}=b4;
const LOSS_LOG_FROM=10,LOG_FROM=100;
function ticks(x,z,count=4){if(!(z>x))return[x];
const bs=(z-x)/count,W=10**Math.floor(Math.log10(bs)),J=W*([1,2,5,10].find(w=>W*w>=bs*0.999)??10),V=[];
for(let y=Math.ceil(x/J-1e-9);y<=Math.floor(z/J+1e-9);y++)V.push(Number((y*J).toPrecision(12)));
return V}function logTicks(x,z){const[B,C]=[Math.ceil(Math.log10(x)-1e-9),Math.floor(Math.log10(z)+1e-9)],J=Math.max(1,Math.ceil((C-B)/4)),an=[];
for(let W=B;W<=C;W+=J)an.push(10**W);
if(an.length>2)return an;
const b_=an.length?[an[0]/10,...an]:[10**C];
return b_.flatMap(W=>[W,3*W]).filter(w=>w>=x*(1-1e-9)&&w<=z*(1+1e-9))}function isLogarithmic(x,z,d=""){return x>0&&z/x>(/loss/i.test(d)?LOSS_LOG_FROM:LOG_FROM)}function reading(c){const by=Math.abs(c);
if(by>=1e4&&by<1e9)return c.toFixed(0);
const[bP,W]=c.toExponential(3).split("e"),aL=Number(W);
if(!c||(aL>=-4&&aL<4))return String(Number(c.toPrecision(4)));
return`${Number(bP)}e${aL<0?"-":"+"}${String(Math.abs(aL)).padStart(2,"0")}`}
const LETTERS="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",WITHOUT_VALUE={running:0,pending:1,done:2,stopped:3,error:4};
const known=new WeakMap();
function trialsOf(o,u){const Y=known.get(u);
if(Y)return Y;
const n=[...u.rows].map(([j,f])=>trialOf(j,f)),bg={trials:bestFirst(n,o.mode??""),names:varying(n),failures:failuresOf(n)};
known.set(u,bg);
return bg}function shortTrial(j){return plain(j.split("_").at(-1))}function trialOf(j,f){return{id:j,short:shortTrial(j),row:f,state:f.state??"pending",params:flat(f.config??{}),value:typeof f.value==="number"?f.value:null,points:pointsOf(f)}}function bestFirst(n,aZ){const a$=aZ==="max"?-1:1,y=k=>(k.value!=null&&aZ?-1:(WITHOUT_VALUE[k.state]??5));
return[...n].sort((af,ag)=>{if(!aZ)return af.row.number-ag.row.number;
const B=y(af)-y(ag);
if(B||af.value==null||ag.value==null)return B||af.row.number-ag.row.number;
return a$*(af.value-ag.value)||af.row.number-ag.row.number})}function flat(bM,bn=""){const U={};
for(const[d,c]of Object.entries(bM)){const b$=c&&typeof c==="object"&&!Array.isArray(c)&&Object.keys(c).length;
if(b$)Object.assign(U,flat(c,`${bn}${d}/`));
else U[bn+d]=c}
return U}function varying(n){const ad=new Map();
for(const{params:K}of n)for(const d of Object.keys(K))ad.set(d,new Set());
for(const{params:K}of n)for(const[d,aR]of ad)if(aR.size<2)aR.add(JSON.stringify(K[d])??"");
return[...ad].filter(([,aR])=>n.length<2||aR.size>1).map(([d])=>d)}function failuresOf(n){const aX=new Map();
for(const k of n){const N=plain(k.row.error);
if(!N)continue;
const bd=aX.get(N)??{error:N,trials:[]};
bd.trials.push(k);
aX.set(N,bd)}
return[...aX.values()].sort((af,ag)=>ag.trials.length-af.trials.length)}function pointsOf({curve:i}){if(!i)return[];
const[x,z]=i.log?[Math.log10(i.low),Math.log10(i.high)]:[i.low,i.high],V=Math.max(1,i.letters.length-1),v=[];
[...i.letters].forEach((bW,y)=>{const bk=LETTERS.indexOf(bW),I=x+((z-x)*bk)/63,c=i.log?10**I:I;
if(bk>=0)v.push([Math.round(i.first+((i.last-i.first)*y)/V),c])});
return v}function paramWords(c){if(c===undefined)return"";
if(typeof c==="number"&&!Number.isInteger(c))return reading(c);
return plain(typeof c==="string"?c:pythonOf(c))}function pythonOf(c){if(c===null||c===undefined)return"None";
if(c===true||c===false)return c?"True":"False";
if(Array.isArray(c))return`[${c.map(pythonOf).join(", ")}]`;
if(typeof c==="object")return`{${Object.entries(c).map(([d,w])=>`${JSON.stringify(d)}: ${pythonOf(w)}`).join(", ")}}`;
return typeof c==="string"?JSON.stringify(c):String(c)}
const WIDE=560,TALL=200,SMALL={width:220,height:150};
const MARGIN=52,BELOW=22,CEILING=10,IN_FRONT=8,MOST_LINES=300,MOST_AXES=6,AXIS_ROOM=66,MOST_WORDS=10,MOST_LABELLED=5,BESIDE_LAST=46,LINE=12,LETTER=6.5;
function rounded(aB){return Math.round(aB*10)/10}function scaleOf(ad,Q,X,d){let[x,z]=[Infinity,-Infinity];
for(const c of ad)[x,z]=[Math.min(x,c),Math.max(z,c)];
const aA=isLogarithmic(x,z,d),I=aA?Math.log10:c=>c,[B,C]=[I(x),I(z)],S=c=>rounded(Q+(C>B?(I(c)-B)/(C-B):0.5)*(X-Q)),ca=ad.every(Number.isInteger),V=aA?logTicks(x,z):ticks(x,z).filter(w=>!ca||Number.isInteger(w));
return{at:S,log:aA,levels:V.map(c=>({y:S(c),label:reading(c)}))}}function layers(Z){return{best:Z[0]??"",front:Z.slice(1,1+IN_FRONT),others:Z.slice(1+IN_FRONT).join("")}}function overlaidShape(n,r,P=WIDE){const D=n.filter(({points:v})=>v.length>1).slice(0,MOST_LINES);
if(!D.length)return null;
const a9=D.flatMap(({points:v})=>v),aj=scaleOf([0,1],MARGIN,P-10),C=a9.reduce((ab,[p])=>Math.max(ab,p),1),p=H=>aj.at(H/C),{at:S,log:aA,levels:R}=scaleOf(a9.map(([,c])=>c),TALL-BELOW,CEILING,r);
const Z=D.map(({points:v})=>v.map(([H,c],aa)=>`${aa?"L":"M"}${p(H)} ${S(c)}`).join("")),am=n.length-D.length;
return{...layers(Z),wide:P,levels:R,log:aA,reports:ticks(0,C).filter(Number.isInteger).map(H=>({x:p(H),label:String(H)})),words:`${plain(r)} over ${count(C+1,"report")} of ${count(D.length,"trial")}, the best in front: ${D[0].short}, ${lastWords(D[0])}`,left:am}}function lastWords({value:c,points:v}){return`now ${reading(c??v[v.length-1][1])}`}function axisOf(d,ad,Q,X){const aT=ad.filter(c=>c!==undefined&&c!==null);
if(aT.length&&aT.every(c=>typeof c==="number"&&Number.isFinite(c))){const{at:S,levels:R}=scaleOf(aT,Q,X,d);
const bb=[...new Set(aT)].sort((b0,b1)=>b0-b1),bV=bb.length>MOST_LABELLED?R:bb.map(c=>({y:S(c),label:reading(c)}));
return{name:plain(d),at:c=>(typeof c==="number"?S(c):null),levels:bV}}
const aK=[...new Set(ad.map(paramWords))].sort();
if(aK.length>MOST_WORDS)return null;
const{at:S}=scaleOf([0,Math.max(1,aK.length-1)],Q,X);
const R=aK.map((m,y)=>({y:S(y),label:m.length>10?`${m.slice(0,9)}…`:m}));
return{name:plain(d),at:c=>S(aK.indexOf(paramWords(c))),levels:R}}function apart(R,br){const aO=[];
for(const aY of R){const Y=aO[aO.length-1];
if(!Y||Math.abs(aY.y-Y.y)>=(br(aY.label)+br(Y.label))/2)aO.push(aY)}
return aO}function parallelShape(n,O,r,P=WIDE){const D=n.filter(({value:c})=>c!=null).slice(0,MOST_LINES),[Q,X]=[TALL-8,26],ab=Math.min(MOST_AXES,Math.floor((P-MARGIN-BESIDE_LAST)/AXIS_ROOM)),u=O.slice(0,ab).map(d=>({name:d,axis:axisOf(d,D.map(({params:K})=>K[d]),Q,X)})),a0=u.filter(({axis:at})=>at);
if(D.length<2||!a0.length)return null;
const be=[...a0.map(({name:d,axis:at})=>k=>at?.at(k.params[d])??null)],C=(axisOf(r,D.map(({value:c})=>c),Q,X));
be.push(k=>C.at(k.value));
const ar=[...a0.map(({axis:at})=>(at)),C],J=(P-MARGIN-BESIDE_LAST)/(ar.length-1),p=y=>rounded(MARGIN+y*J),Z=D.map(k=>{const v=be.map((I,y)=>({x:p(y),y:I(k)})).filter(({y:F})=>F!=null);
return v.map((bm,aa)=>`${aa?"L":"M"}${bm.x} ${bm.y}`).join("")});
return{...layers(Z),wide:P,axes:ar.map(({name:d,levels:R},y)=>({name:cutTo(Math.floor(J/8),d),x:p(y),levels:apart(R,()=>LINE)})),bottom:Q,top:X,words:`Parallel coordinates of ${count(D.length,"trial")}: ${ar.map(({name:d})=>d).join(", ")}; the best in front: ${wordsOfBest(D[0],O,r)}`}}function cutTo(ab,aq){return aq.length>ab?`${aq.slice(0,ab-1)}…`:aq}function wordsOfBest({params:K,value:c},O,r){const ah=O.slice(0,MOST_AXES).map(d=>`${plain(d)} ${paramWords(K[d])}`);
return[...ah,`${plain(r)} ${reading(c??0)}`].join(", ")}function scatterShape(n,d,r){const D=n.filter(({value:c,params:K})=>c!=null&&K[d]!==undefined),{width:aV,height:I}=SMALL;
const aj=D.length>1?axisOf(d,D.map(({params:K})=>K[d]),MARGIN,aV-14):null;
if(!aj)return null;
const{at:S,levels:R}=scaleOf(D.map(({value:c})=>c??0),I-BELOW,CEILING+8,r);
const[L,...aQ]=D.map(({params:K,value:c})=>({x:aj.at(K[d])??MARGIN,y:S(c??0)}));
return{name:plain(d),best:L,others:aQ.map(a7=>`M${a7.x} ${a7.y}h0`).join(""),levels:R,below:apart(aj.levels,m=>(m.length+1)*LETTER).map(({y:F,label:m})=>({x:F,label:m})),words:`${plain(r)} against ${plain(d)} of ${count(D.length,"trial")}, the best at ${paramWords(D[0].params[d])}`}}function scatterShapes(n,O,r){return O.slice(0,MOST_AXES).map(d=>scatterShape(n,d,r)).filter(t=>t!==null)}function sparkPath({points:v}){if(v.length<2)return"";
const bQ=scaleOf(v.map(([,c])=>c),15,1),aj=scaleOf([v[0][0],v[v.length-1][0]],0,64),bX=p=>rounded(((p-v[0][0])/(v[v.length-1][0]-v[0][0]||1))*64);
return aj&&v.map(([p,c],aa)=>`${aa?"L":"M"}${bX(p)} ${bQ.at(c)}`).join("")}function drawLayers({best:L,front:bU,others:aQ},G){return[aQ&&h("path",{key:"others",class:"other",d:aQ}),...bU.map((bN,y)=>h("path",{key:`front ${y}`,class:`front c${G}`,d:bN})).reverse(),h("path",{key:"best",class:`curve-line c${G}`,d:L})]}function drawOverlaid(t,r,G){return h("figure",{key:"overlaid",class:"curve wide"},h("figcaption",{class:"line"},h("span",{class:"name cut"},r),h("span",{class:"quiet"},`over reports, the best in front${t.log?", log scale":""}`)),h("svg",{viewBox:`0 0 ${t.wide} ${TALL}`,role:"img","aria-label":t.words},t.levels.map(({y:F,label:m})=>h("g",{key:m},h("path",{d:`M52 ${F}H${t.wide}`,class:"level"}),h("text",{x:47,y:F+4,"text-anchor":"end"},m))),t.reports.map(({x:p,label:m})=>h("text",{key:`at ${m}`,x:p,y:TALL-5,"text-anchor":"middle"},m)),drawLayers(t,G)))}function placeOfName({axes:ar,wide:P},y){const{x:p,name:d}=ar[y];
if(y===0)return{x:p-40,"text-anchor":"start"};
return p+(d.length*LETTER)/2>P?{x:P,"text-anchor":"end"}:{x:p,"text-anchor":"middle"}}function drawParallel(t,G){return h("figure",{key:"parallel",class:"curve wide"},h("figcaption",{class:"line"},h("span",{class:"name"},"Parameters"),h("span",{class:"quiet"},"and what came of them, the best in front")),h("svg",{viewBox:`0 0 ${t.wide} ${TALL}`,role:"img","aria-label":t.words},drawLayers(t,G),t.axes.map(({name:d,x:p,levels:R},y)=>h("g",{key:d},h("path",{class:"axis-line",d:`M${p} ${t.top}V${t.bottom}`}),h("text",{class:"axis-name",y:14,...placeOfName(t,y)},d),R.map(({y:F,label:m})=>h("text",{key:m,y:F+4,...(y===t.axes.length-1?{x:p+5}:{x:p-5,"text-anchor":"end"})},m))))))}function drawScatter(t,G){const{width:aV,height:I}=SMALL;
return h("figure",{key:`against ${t.name}`,class:"curve"},h("figcaption",{class:"line"},h("span",{class:"name cut",title:t.name},t.name)),h("svg",{viewBox:`0 0 ${aV} ${I}`,role:"img","aria-label":t.words},t.levels.map(({y:F,label:m})=>h("g",{key:m},h("path",{d:`M52 ${F}H${aV}`,class:"level"}),h("text",{x:47,y:F+4,"text-anchor":"end"},m))),t.below.map(({x:p,label:m})=>h("text",{key:`at ${m}`,x:p,y:I-5,"text-anchor":"middle"},m)),h("path",{class:`dots c${G}`,d:t.others}),h("circle",{class:`curve-end c${G}`,cx:t.best.x,cy:t.best.y,r:3.5}),h("text",{class:"star",x:t.best.x,y:t.best.y-6,"text-anchor":"middle"},"★")))}
const STOPS=["Stop","Interrupt","Kill"],STEPS=["after its next report","now, with KeyboardInterrupt","at once, by ending its processes"];
function stopButton(a,b){if(!a.stop)return null;
const{label:m,about:q,order:a_}=a.stop;
const av={"data-id":a_,"data-name":a.name};
if(b.asked.has(a_))return button("asked…",{...av,class:"aside","aria-label":`${m} ${a.name}`,disabled:true});
const bB=`${m} ${a.name} ${q}`;
if(!a.owner)return button(m,{...av,class:"aside","data-act":"cancel-run","aria-label":`${m} ${a.name}`,title:bB});
if(b.doubted!==a_){return button(`${m}…`,{...av,class:"aside","data-act":"doubt","data-owner":a.owner,"aria-label":`${m} ${a.name} of ${a.owner}`,title:bB})}
return h("span",{class:"ask nowrap aside"},button("Keep",{...av,"data-act":"keep","aria-label":`Keep ${a.name} of ${a.owner}`})," ",button(`${m} it`,{...av,"data-act":"cancel-run",class:"urgent","aria-label":`${m} it: ${a.name} of ${a.owner}`}))}
const TRIAL_SIGNS={pending:"◌",running:"●",done:"✓",stopped:"⊘",error:"✕",interrupted:"⊘"};
const MOST_COLUMNS=5,MOST_NAMED=3,orders=new Map();
function drawTrials(q,M){if(!M?.rows.size)return[q.view.underWay&&empty("Asking for the trials …")];
const U=trialsOf(q.experiment,M),r=q.experiment.shown||q.experiment.metric||"",P=Math.min(WIDE,q.state.room-24),bi=r?overlaidShape(U.trials,r,P):null;
return[...drawFailures(U),tableOf(U,r,q),bi&&drawOverlaid(bi,plain(r),q.view.colour),...(q.view.underWay?[]:drawEnd(U,r,q.view.colour,P))]}function drawEnd({trials:n,names:O},r,G,P){const bj=parallelShape(n,O,r,P),bu=scatterShapes(n,O,r);
return[bj&&drawParallel(bj,G),bu.length>0&&h("div",{key:"scatters",class:"curves",role:"group","aria-label":`${plain(r)} against each parameter`},bu.map(t=>drawScatter(t,G)))]}function drawFailures({failures:ba}){if(!ba.length)return[];
const aP=({error:N,trials:n})=>{const b9=n.slice(0,MOST_NAMED).map(({short})=>short).join(", ")+(n.length>MOST_NAMED?", …":"");
return h("li",{key:N},h("span",{class:"state failed"},h("span",{class:"sign","aria-hidden":"true"},"✕"),` ${count(n.length,"trial")} failed: `),N," ",h("span",{class:"quiet"},b9))};
return[h("ul",{key:"failures",class:"lines","aria-label":"Failures"},ba.map(aP))]}function tableOf(U,r,q){const{id:j,name:d}=q.view;
const O=U.names.slice(0,MOST_COLUMNS),n=inOrder(U.trials,q),al={device:n.some(k=>deviceOf(k,q)),why:n.some(({row:f})=>f.waits)};
const bL=["Trial","State",...O.map(plain),...(r?[plain(r),"Curve"]:[]),...(al.device?["Device"]:[]),"Took",...(al.why?["Why"]:[]),""],bx=q.state.sights.get(j)??{top:0,height:460,row:33};
const{first:B,last:C}=inSight(n.length,bx);
const M=n.slice(B,C).map(k=>drawRow(k,O,r,al,q)),bc=(aU,bt)=>bt>0&&h("tr",{key:aU,class:"gap","aria-hidden":"true",style:`height:${Math.round(bt*bx.row)}px`}),b6=([bc("above",B),...M,bc("below",n.length-C)].filter(Boolean));
return table(`Trials of ${d}`,bL,b6,{rows:n.length,sight:j})}function inOrder(n,{view:e,state:b}){const Y=b.heldSight===e.id?orders.get(e.id):null;
if(!Y){orders.set(e.id,n);
return n}
const g=new Map(n.map(k=>[k.id,k])),b7=Y.map(({id:j})=>g.get(j)).filter(k=>k!==undefined),known=new Set(Y.map(({id:j})=>j));
return[...b7,...n.filter(({id:j})=>!known.has(j))]}function drawRow(k,O,r,al,q){const{row:f}=k;
const b=trialState(k,q),aC=b==="running"?` ink c${q.view.colour}`:"",ah=k.value!=null?reading(k.value):plain(f.value==null?"":String(f.value)),aP=sparkPath(k),bO=deviceOf(k,q);
return h("tr",{key:k.id,"data-trial":k.id},h("th",{scope:"row",title:plain(k.id)},h("span",{class:"name"},k.short)),h("td",{class:`nowrap state ${b==="error"?"failed":b==="pending"?"waiting":b}`},h("span",{class:`sign${aC}`,"aria-hidden":"true"},TRIAL_SIGNS[b]??"◌"),` ${f.waits&&q.view.underWay?"waiting":b}`),O.map(d=>h("td",{key:d,class:"nowrap","data-head":plain(d)},h("span",{class:"cut",title:paramWords(k.params[d])},paramWords(k.params[d])))),r&&h("td",{class:"nowrap","data-head":plain(r)},ah),r&&h("td",{class:"trend"},aP&&h("svg",{class:"spark",viewBox:"0 0 64 16",preserveAspectRatio:"none",role:"img","aria-label":`${count(f.reports??0,"report")}`},h("path",{d:aP}))),al.device&&cell(bO,"nowrap"),cell(tookWords(k,q),"nowrap"),al.why&&cell(whyOf(k,q),"why"),cell([stopButton(stoppable(k,q),q.state),copyButton(k)],"acts"))}function trialState({row:f,state:b},{view:e}){return!e.underWay&&f.started_at&&["running","pending"].includes(b)?"interrupted":b}function deviceOf(k,q){return trialState(k,q)==="interrupted"?"":deviceWords(k.row.devices)}function tookWords({row:f,state:b},{view:e,experiment:o,now:g}){if(!f.started_at)return"";
const a8=f.ended_at??(e.underWay?null:o.ended_at);
if(a8)return duration(a8-f.started_at);
return b==="running"&&e.underWay?age(g-f.started_at):""}function whyOf({id:j,row:f},{view:e,whys:a1}){if(!f.waits||!e.underWay)return"";
return a1.get(`${e.name} ${plain(j)}`)??"its process is being started"}function stoppable({id:j,short,row:f,state:b},{view:e}){const J=Math.min(f.stops??0,STOPS.length-1),bR=e.underWay&&(b==="running"||b==="pending"),q=b==="pending"?"before it begins":STEPS[J];
return{name:`trial ${short}`,owner:e.owner,stop:bR?{label:STOPS[J],about:q,order:`${e.id}/${f.stops??0}/${j}`}:null}}function copyButton({short,row:f}){const aq=pythonOf(f.config??{});
return button("Config",{"data-act":"copy","data-text":aq,"data-name":`the config of trial ${short}`,"aria-label":`Copy the config of trial ${short}`,title:`Copy ${plain(aq)}`})}
const EXPERIMENT_SIGNS={running:"●",stopping:"●",finished:"✓",stopped:"⊘",failed:"✕"};
const MOST_PARAMETERS=4;
function goesOn(o){return["running","stopping"].includes(o.state??"running")}function experimentView(o,g,l){const E=goesOn(o)&&!l,b=goesOn(o)&&l?"ended with it":(o.state??"running"),J=Math.min(o.stops??0,STOPS.length-1);
return{id:o.id,name:plain(o.name),owner:plain(o.owner),state:b,sign:b==="ended with it"?"–":(EXPERIMENT_SIGNS[b]??"◌"),colour:o.hue*PALETTE.hues[0].length,underWay:E,time:o.started_at?age((o.ended_at??g)-o.started_at):"",progress:trialWords(o),metrics:bestWords(o),best:bestWords(o,Infinity),why:plain(o.why),path:plain(o.path),goOn:E||b==="finished"?"":`tune.Tuner.restore(${JSON.stringify(o.path)}, trainable)`,stop:E?{label:STOPS[J],about:STEPS[J],order:`${o.id}/${o.stops??0}`}:null}}function trialWords({counts:$={},total:bC}){const l=["done","stopped","error"].reduce((aF,b)=>aF+($[b]??0),0),ah=bC==null?`${count(l,"trial")} ended`:`${l} of ${count(bC,"trial")} ended`;
return[ah,$.running?`${$.running} running`:"",$.error?`${$.error} failed`:""].filter(Boolean).join(" · ")}function bestWords({best:L,metric:r},ab=MOST_PARAMETERS){if(!L)return"";
const K=Object.entries(L.config).map(([d,c])=>`${plain(d)} ${plain(c)}`),ah=K.slice(0,ab).join(", ")+(K.length>ab?", …":"");
return`${plain(r)} ${reading(L.value)}${ah&&` with ${ah}`}`}function head(a,b,d,bK){const aW=[a.owner,a.time,a.progress,bK&&a.metrics].filter(Boolean).join(" · ");
return h("div",{class:"line head",key:"head"},d,stateOf(a),h("span",{class:"facts quiet"},aW),stopButton(a,b))}function stateOf({state:b,sign:a$,colour:G}){const aC=["running","serving"].includes(b)?` ink c${G}`:"";
return h("span",{class:`nowrap state ${b}`},h("span",{class:`sign${aC}`,"aria-hidden":"true"},a$),` ${b}`)}function openExperiments({experiments:T=[]},b){const E=T.filter(goesOn).slice(0,1),B=new Set((E.length?E:T.slice(0,1)).map(({id:j})=>j));
return T.map(({id:j})=>j).filter(j=>B.has(j)!==b.open.has(j))}function drawExperiments(u,g,l,b,ac){const T=u.experiments??[];
if(!T.length)return[];
const _=new Set(openExperiments(u,b)),a1=waitsOf(ac),M=T.map(o=>{const e=experimentView(o,g,l),aN=_.has(e.id),d=h("button",{type:"button",class:"opens","data-act":"group","data-function":e.id,"aria-expanded":String(aN)},h("span",{"aria-hidden":"true"},aN?"▾ ":"▸ "),nameOf(e.name));
return h("li",{key:e.id},head(e,b,d,!aN),aN&&h("div",{class:"run"},trialDetails({view:e,experiment:o,state:b,now:g,whys:a1})))});
return[h("ul",{class:"runs",key:"experiments","aria-label":"Experiments"},M)]}function drawExperiment(o,g,l,b,ac){const e=experimentView(o,g,l);
return[head(e,b,nameOf(e.name),false),h("div",{class:"run",key:"run"},trialDetails({view:e,experiment:o,state:b,now:g,whys:waitsOf(ac)}))]}function trialDetails(q){const{view:e,state:b}=q;
const ax=e.state==="failed";
return[e.why&&h("p",{key:"why",class:ax?"attention":""},ax&&h("strong",{},h("span",{"aria-hidden":"true"},"⚠ "),"Attention: "),e.why),e.best&&h("p",{key:"best"},`best: ${e.best} (trial ${shortTrial(q.experiment.best?.id??"")})`),...drawTrials(q,b.past[`rows/${e.id}`]?.data??null),h("p",{key:"path",class:"quiet path"},e.path),e.goOn&&empty("Go on:",e.goOn)]}function waitsOf(ac){const M=(ac?.tasks??[]).filter(f=>f.state.startsWith("PENDING"));
return new Map(M.map(f=>[plain(f.name),plain(f.reason==null?f.why:ac?.reasons?.[f.reason])]))}
const SIGNS_OF_SERVED={serving:"●",deploying:"◌",unhealthy:"⚠",failed:"✕",ending:"●",ended:"–"};
const MOST_PLACES=8;
function isServed(s){return!["ended","failed"].includes(s.state??"serving")}function servedView(s,g,l){const E=isServed(s)&&!l,b=l?"ended":(s.state??"serving"),aw=l?[]:(s.deployments??[]);
return{id:s.id,name:plain(s.name),owner:plain(s.owner),state:b,sign:SIGNS_OF_SERVED[b]??"◌",colour:PALETTE.hues[0].length*Math.max(0,s.hue??0),underWay:E,time:E&&s.started_at?age(g-s.started_at):"",progress:replicaWords({...s,state:b,deployments:aw}),metrics:requestWords({...s,state:b}),url:[s.route,s.url].map(plain).find(w=>/^(https?:\/\/|\/[^/])/.test(w))??"",curl:E?curlWords(s):"",why:plain(s.why),deployments:aw.map(w=>({name:plain(w.name),words:deploymentWords(w),why:plain(w.message),replicas:(w.replicas??[]).map(f=>replicaView(f,g)),blocked:plain((w.replicas??[]).find(f=>f.blocked)?.blocked)})),errors:(s.deployments??[]).filter(({error:N})=>N).map(({name:d,error:N})=>({name:plain(d),words:`${plain(N?.type)}: ${plain((N?.message??"").split("\n")[0]).slice(0,200)}`,ago:age(g-(N?.time??g)),traceback:N?.traceback??""})),stop:E?{label:"Stop",about:"after what it has under way",order:`${s.id}/${s.stops??0}`}:null}}function replicaView(f,g){return{id:f.id,place:placeOfReplica(f),state:f.blocked?"blocked":f.state.toLowerCase(),pid:f.pid??null,age:f.since?age(g-f.since):"",underWay:f.under_way??0,why:plain(f.wait)}}function replicaWords({state:b,deployments:aw=[]}){if(b==="ended")return"";
const ai=aw.reduce((aF,w)=>aF+servingOf(w),0),aG=aw.reduce((aF,w)=>aF+w.wanted,0);
return ai===aG?count(ai,"replica"):`${ai} of ${count(aG,"replica")}`}function servingOf({replicas:ao=[],more:bZ=0}){return ao.filter(({state:b})=>b==="RUNNING").length+bZ}function requestWords({state:b,requests:bp=0,per_s:b5=0,p50_s:b2,p95_s:b3,queued:bo=0,failed:ax=0}){if(!bp)return"";
const a6=ax?`${ax} failed`:"";
if(b==="ended")return[count(bp,"request"),a6].filter(Boolean).join(" · ");
const bA=(d,bv)=>(bv==null?"":`${d} ≤ ${short(1000*bv)} ms`);
return[`${short(b5)} requests/s`,bA("p50",b2),bA("p95",b3),bo?`queue ${bo}`:"",a6].filter(Boolean).join(" · ")}function short(c){return String(Number(c.toPrecision(3)))}function deploymentWords(deployment){const{wanted:aG,replicas:ao=[],most_each:bh=0,share:bw="",batch:a5=0,batch_limit:bJ=0}=deployment;
const ai=servingOf(deployment),V=ao.filter(({state:b})=>b==="RUNNING").map(placeOfReplica).slice(0,MOST_PLACES),am=ai-V.length,aU=[...V,...(am>0&&V.length?[`and ${am} more`]:[])].join(", ");
return[ai===aG?count(ai,"replica"):`${ai} of ${count(aG,"replica")}`,bw&&V.length?`${bw} on ${aU}`:aU,bh?`max ${bh} each`:"",a5?`batch ${Number(a5.toPrecision(2))} of ${bJ}`:""].filter(Boolean).join(" · ")}function placeOfReplica({devices:aJ={},fallback:bT="",blocked:aH=""}){const ay=Object.entries(aJ).filter(([,az])=>az.length).map(([d,az])=>`${plain(d)} ${az.join(",")}`),ak=[plain(bT),aH?"blocked":""].filter(Boolean).join(", ");
return(ay.join(" ")||"CPU")+(ak&&` (${ak})`)}function curlWords({url:bD,asks_token:bI}){return bD?`curl -s ${plain(bD)}${bI?" -H 'Authorization: Bearer …'":""}`:""}
const COLUMNS=["Replica","State","Under way","Pid","Age"],OPEN_SERVED=3;
function drawServed({served:s=[]},g,l,b){const M=s.map((w,aa)=>{const e=servedView(w,g,l),_=(aa<OPEN_SERVED)!==b.open.has(e.id),d=h("button",{type:"button",class:"opens","data-act":"group","data-function":e.id,"aria-expanded":String(_)},h("span",{"aria-hidden":"true"},_?"▾ ":"▸ "),nameOf(e.name));
return h("li",{key:e.id},head(e,b,d,true),_&&h("div",{class:"run"},servedDetails(e)))});
return[h("ul",{class:"runs",key:"served","aria-label":"Applications"},M)]}function drawOneServed(s,g,l,b){const e=servedView(s,g,l);
return[head(e,b,nameOf(e.name),true),h("div",{class:"run",key:"run"},servedDetails(e))]}function servedDetails(e){return[e.why&&h("p",{key:"why",class:e.state==="failed"?"attention":""},e.state==="failed"&&h("strong",{},h("span",{"aria-hidden":"true"},"⚠ "),"Attention: "),e.why),e.url&&e.curl&&h("p",{key:"url"},h("a",{href:e.url,target:"_blank",rel:"noopener"},e.url)," ",h("code",{class:"quiet"},e.curl)),...e.deployments.map(w=>deployment(w)),...e.errors.map(({name:d,words:a2,ago:bH,traceback:b8})=>h("details",{key:`error ${d}`},h("summary",{},h("span",{class:"state failed"},"✕ "),`last error of ${d}, ${bH} ago: ${a2}`),h("pre",{class:"quiet"},b8)))]}function deployment({name:d,words:a2,why:bF,replicas:ao,blocked:aH}){return h("div",{key:`of ${d}`},h("p",{},h("strong",{},d),` ${a2}`),bF&&h("p",{class:"quiet"},`◌ ${bF}`),ao.length>0&&table(`Replicas of ${d}`,COLUMNS,ao.map(({id:j,place:y,state:b,underWay:E,pid:bl,age,why:bE})=>h("tr",{key:j},cell(y),cell(bE?`${b}: ${bE}`:b),cell(String(E)),cell(bl==null?"":String(bl)),cell(age)))),aH&&h("pre",{class:"quiet"},aH))}
const WIDTH=280,HEIGHT=136,LEFT=46,FLOOR=HEIGHT-20,TOP=16,RIGHT=10;
function curveShape(i,au){const v=i.points,[a4,ae]=[v.map(([p])=>p),v.map(([,F])=>F)],[B,C]=[a4[0],a4[a4.length-1]],[x,z]=[Math.min(...ae),Math.max(...ae)],aM=isLogarithmic(x,z,i.name),I=aM?Math.log10:c=>c,[Q,X]=[I(x),I(z)],p=H=>round(LEFT+((H-B)/(C-B||1))*(WIDTH-LEFT-RIGHT)),F=c=>round(TOP+(1-(X>Q?(I(c)-Q)/(X-Q):0.5))*(FLOOR-TOP-6)),ak=au.filter(({report:H})=>H>=B&&H<=C),L=ak.find(bY=>bY.best),d=plain(i.name);
return{name:d,isLog:aM,last:reading(ae[ae.length-1]),line:v.map(([H,c],aa)=>`${aa?"L":"M"}${p(H)} ${F(c)}`).join(""),end:{x:p(C),y:F(ae[ae.length-1])},levels:(aM?logTicks(x,z):ticks(x,z)).map(c=>({y:F(c),label:reading(c)})),reports:ticks(B,C).filter(Number.isInteger).map(c=>({x:p(c),label:String(c)})),marks:ak.map(({report:H})=>p(H)),best:L?p(L.report):null,words:[`${d} over ${count(C-B+1,"report")}: from ${reading(ae[0])} to ${reading(ae[ae.length-1])}`,`between ${reading(x)} and ${reading(z)}${aM?" on a logarithmic axis":""}`,ak.length?count(ak.length,"checkpoint"):"",L?`the best one at report ${L.report}`:""].filter(Boolean).join(", ")}}function round(aB){return Math.round(aB*10)/10}function drawCurves(aI,G){if(!aI.length)return null;
return h("div",{class:"curves",key:"curves"},aI.map(i=>drawCurve(i,G)))}function drawCurve(i,G){return h("figure",{key:i.name,class:"curve"},h("figcaption",{class:"line"},h("span",{class:"name cut",title:i.name},i.name),i.isLog&&h("span",{class:"quiet small"},"log scale"),h("span",{class:"last"},i.last)),h("svg",{viewBox:`0 0 ${WIDTH} ${HEIGHT}`,role:"img","aria-label":i.words},i.levels.map(({y:F,label:m})=>h("g",{key:m},h("path",{d:`M${LEFT} ${F}H${WIDTH}`,class:"level"}),h("text",{x:LEFT-5,y:F+4,"text-anchor":"end"},m))),i.reports.map(({x:p,label:m})=>h("text",{key:`at ${m}`,x:p,y:HEIGHT-5,"text-anchor":"middle"},m)),i.marks.length>0&&h("path",{class:"marks",d:i.marks.map(p=>`M${p} ${FLOOR}v-6`).join("")}),i.best!=null&&h("path",{class:"best",d:`M${i.best} ${FLOOR}V14`}),i.best!=null&&h("text",{class:"star",x:i.best,y:11,"text-anchor":"middle"},"★"),h("path",{class:`curve-line c${G}`,d:i.line}),h("circle",{class:`curve-end c${G}`,cx:i.end.x,cy:i.end.y,r:2.5})))}
const UNDER_WAY=["waiting","running","stopping","restarting"],SIGNS={waiting:"◌",restarting:"◌",running:"●",stopping:"●",finished:"✓",returned:"✓",stopped:"⊘",failed:"✕"};
const METRICS=4;
function isUnderWay(a){return UNDER_WAY.includes(a.state??"waiting")}function runView(a,g,l){const E=isUnderWay(a),b=E&&l?"ended with it":(a.state??"waiting"),aD=a.ranks??[],aI=a.curves??[],au=a.checkpoints??[],L=au.find(w=>w.best)?.name??"",J=Math.min(a.stops??0,STOPS.length-1);
return{id:a.id,name:plain(a.name),owner:plain(a.owner),state:b,sign:b==="ended with it"?"–":signOf(b),colour:a.hue*PALETTE.hues[0].length,underWay:E&&!l,time:timeWords(a,g),progress:progressWords(a),gang:aD.length?gangWords(a):"",metrics:metricWords(a),ranks:aD.map(A=>rankView(A,a)),rankCounts:rankCounts(aD),curves:aI.filter(i=>i.points.length>1).map(i=>curveShape(i,au)),checkpoints:L&&`${count(au.length,"checkpoint")}, best ${plain(L)}`,load:a.load??"",path:plain(a.path),why:plain(a.why),resume:E&&!l?"":resumeWords(a,b),stop:E&&!l?{label:STOPS[J],about:STEPS[J],order:`${a.id}/${a.stops??0}`}:null}}function signOf(b){return SIGNS[b]??"◌"}function rankView(A,a){const b=A.state??"waiting",H=A.report==null?"":`report ${A.report}`,aW=[b,H,deviceWords(A.devices),A.pid?`pid ${A.pid}`:"",plain(A.node)];
return{rank:A.rank,state:b,sign:signOf(b),colour:a.hue*PALETTE.hues[0].length+(A.rank%PALETTE.hues[0].length),report:H,title:`rank ${A.rank}: ${aW.filter(Boolean).join(", ")}`}}function gangWords(a){const ay={};
for(const A of a.ranks??[]){for(const[bq,az]of Object.entries(A.devices??{}))ay[bq]=[...new Set([...(ay[bq]??[]),...az])]}
const a3=count((a.ranks??[]).length,"worker"),aJ=deviceWords(ay),w=Object.keys(a.each??{}).length?`${a3} with ${demandWords(a.each)} each`:a3;
return[aJ?`${a3} on ${aJ}`:w,a.backend].filter(Boolean).join(" · ")}function progressWords(a){const known=a.epochs!=null&&a.epochs_done!=null,bS=known?`${amount(a.epochs_done??0)} of ${count(a.epochs??0,"epoch")}`:a.epoch==null?"":`epoch ${amount(a.epoch)}`,am=a.left_s!=null&&isUnderWay(a)?`about ${age(a.left_s)} left`:"";
return[bS,am,a.reports?count(a.reports,"report"):"no report yet"].filter(Boolean).join(" · ")}function timeWords(a,g){return a.started_at?age((a.ended_at??g)-a.started_at):""}function metricWords(a){return(a.curves??[]).slice(0,METRICS).map(({name:d,points:v})=>`${plain(d)} ${reading(v[v.length-1][1])}`).join(", ")}function rankCounts(aD){const $=new Map();
for(const{state:b="waiting"}of aD)$.set(b,($.get(b)??0)+1);
return[...$].map(([b,aB])=>`${aB} ${b}`).join(", ")}function resumeWords(a,b){if(b==="finished")return"";
const bf=(a.checkpoints??[]).at(-1)?.name;
return`Resume: run the cell again; a run of the same name goes on from ${bf?plain(bf):"its beginning, since it has no checkpoint"}`}
const OPEN_AT_FIRST=2;
function drawRuns(u,g,l,b){const E=u.runs.filter(isUnderWay).slice(0,OPEN_AT_FIRST),B=new Set((E.length?E:u.runs.slice(0,1)).map(a=>a.id)),M=u.runs.map(a=>{const e=runView(a,g,l);
return drawRun(e,b,B.has(a.id)!==b.open.has(e.id))});
return[M.length>0&&h("ul",{class:"runs",key:"runs","aria-label":"Training runs"},M),Boolean(u.more)&&h("p",{class:"quiet",key:"more"},`and ${count(u.more??0,"more run")}`)]}function drawOneRun(u,g,l,b){const a=runView(u,g,l);
return[head(a,b,nameOf(a.name),false),h("div",{class:"run",key:"run"},details(a))]}function drawBrief(u,g,l,b){if(l)return[];
const T=(u.experiments??[]).filter(goesOn).map(o=>experimentView(o,g,false)),s=(u.served??[]).filter(isServed).map(w=>servedView(w,g,false)),aE=[...T,...u.runs.filter(isUnderWay).map(a=>runView(a,g,false)),...s];
if(!aE.length)return[];
return[h("ul",{class:"runs",key:"runs","aria-label":s.length?"Runs and applications under way":"Runs under way"},aE.map(a=>h("li",{key:a.id},head(a,b,nameOf(a.name),true))))]}function drawRun(a,b,_){const d=h("button",{type:"button",class:"opens","data-act":"group","data-function":a.id,"aria-expanded":String(_)},h("span",{"aria-hidden":"true"},_?"▾ ":"▸ "),nameOf(a.name));
return h("li",{key:a.id},head(a,b,d,!_),_&&h("div",{class:"run"},details(a)))}function details(a){return[a.why&&h("p",{key:"why",class:a.state==="failed"?"attention":""},a.state==="failed"&&h("strong",{},h("span",{"aria-hidden":"true"},"⚠ "),"Attention: "),a.why),a.gang&&h("p",{key:"gang"},a.gang),a.ranks.length>0&&h("ul",{key:"ranks",class:"ranks","aria-label":`Ranks: ${a.rankCounts}`},a.ranks.map(drawRank)),drawCurves(a.curves,a.colour),a.checkpoints&&h("p",{key:"checkpoints"},a.curves.length?`${a.checkpoints}, marked ★`:a.checkpoints),a.load&&empty("Load the best one:",a.load),h("p",{key:"path",class:"quiet path"},a.path),a.resume&&h("p",{key:"resume",class:"quiet"},a.resume)]}function drawRank(A){const aC=A.state==="running"?` ink c${A.colour}`:"";
return h("li",{key:String(A.rank),title:A.title,class:`state ${A.state}`},h("span",{class:"unseen"},"rank "),String(A.rank)," ",h("span",{class:`sign${aC}`,"aria-hidden":"true"},A.sign),h("span",{class:"unseen"},` ${A.state}`))}
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
function viewOfRuns(aS){const M=a=>({...a,ranks:rowsOf(a.ranks),checkpoints:rowsOf(a.checkpoints)}),u={...aS,runs:(aS.runs??[]).map(M),experiments:aS.experiments??[],served:aS.served??[]};
const ap=h("style",{key:"look of runs"},RUNS_STYLE),e=(g,l,ac)=>({tabs:tabsOf(u,l),views:{runs:b=>[ap,...drawExperiments(u,g,l,b,ac),...drawRuns(u,g,l,b)],serving:b=>[ap,...drawServed(u,g,l,b)]},brief(b){const Z=drawBrief(u,g,l,b);
return Z.length?[ap,...Z]:[]},only(b){const[a,o]=[u.runs.find(({id:j})=>j===b.only),u.experiments?.find(({id:j})=>j===b.only)],s=u.served?.find(({id:j})=>j===b.only);
if(a)return[ap,...drawOneRun(a,g,l,b)];
if(s)return[ap,...drawOneServed(s,g,l,b)];
return o?[ap,...drawExperiment(o,g,l,b,ac)]:[]}});
e.open=b=>(b.only?(u.experiments??[]).map(({id:j})=>j).filter(j=>j===b.only):openExperiments(u,b));
return e}function tabsOf({runs:aE,experiments:T=[],served:s=[]},l){const bz=(j,m,bG)=>({id:j,label:m,badge:l?0:bG,urgent:false});
return[...(aE.length||T.length?[bz("runs","Runs",aE.filter(isUnderWay).length+T.filter(goesOn).length)]:[]),...(s.length?[bz("serving","Serving",s.filter(isServed).length)]:[])]}
return viewOfRuns}
