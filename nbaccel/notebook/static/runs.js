// A part of nbaccel's cockpit, joined from nbaccel/notebook/runs/ by tools/join_cockpit.py. Change it there.
export default function(bG){const{PALETTE,age,amount,button,cell,count,demandWords,deviceWords,duration,empty,h,inSight,nameOf,plain,rowsOf,table}=bG;
const LOSS_LOG_FROM=10,LOG_FROM=100;
function ticks(v,x,count=4){if(!(x>v))return[v];
const be=(x-v)/count,S=10**Math.floor(Math.log10(be)),H=S*([1,2,5,10].find(J=>S*J>=be*0.999)??10),ak=[];
for(let w=Math.ceil(v/H-1e-9);w<=Math.floor(x/H+1e-9);w++)ak.push(Number((w*H).toPrecision(12)));
return ak}function logTicks(v,x){const[z,A]=[Math.ceil(Math.log10(v)-1e-9),Math.floor(Math.log10(x)+1e-9)],H=Math.max(1,Math.ceil((A-z)/4)),al=[];
for(let S=z;S<=A;S+=H)al.push(10**S);
if(al.length>2)return al;
const bC=al.length?[al[0]/10,...al]:[10**A];
return bC.flatMap(S=>[S,3*S]).filter(J=>J>=v*(1-1e-9)&&J<=x*(1+1e-9))}function isLogarithmic(v,x,d=""){return v>0&&x/v>(/loss/i.test(d)?LOSS_LOG_FROM:LOG_FROM)}function reading(b){const bi=Math.abs(b);
if(bi>=1e4&&bi<1e9)return b.toFixed(0);
const[bq,S]=b.toExponential(3).split("e"),az=Number(S);
if(!b||(az>=-4&&az<4))return String(Number(b.toPrecision(4)));
return`${Number(bq)}e${az<0?"-":"+"}${String(Math.abs(az)).padStart(2,"0")}`}
const LETTERS="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",WITHOUT_VALUE={running:0,pending:1,done:2,stopped:3,error:4};
const known=new WeakMap();
function trialsOf(i,s){const U=known.get(s);
if(U)return U;
const j=[...s.rows].map(([o,l])=>trialOf(o,l)),a6={trials:bestFirst(j,i.mode??""),names:varying(j),failures:failuresOf(j)};
known.set(s,a6);
return a6}function shortTrial(o){return plain(o.split("_").at(-1))}function trialOf(o,l){return{id:o,short:shortTrial(o),row:l,state:l.state??"pending",params:flat(l.config??{}),value:typeof l.value==="number"?l.value:null,points:pointsOf(l)}}function bestFirst(j,aP){const aS=aP==="max"?-1:1,w=g=>(g.value!=null&&aP?-1:(WITHOUT_VALUE[g.state]??5));
return[...j].sort((aa,ab)=>{if(!aP)return aa.row.number-ab.row.number;
const z=w(aa)-w(ab);
if(z||aa.value==null||ab.value==null)return z||aa.row.number-ab.row.number;
return aS*(aa.value-ab.value)||aa.row.number-ab.row.number})}function flat(bn,bb=""){const R={};
for(const[d,b]of Object.entries(bn)){const bD=b&&typeof b==="object"&&!Array.isArray(b)&&Object.keys(b).length;
if(bD)Object.assign(R,flat(b,`${bb}${d}/`));
else R[bb+d]=b}
return R}function varying(j){const _=new Map();
for(const{params:I}of j)for(const d of Object.keys(I))_.set(d,new Set());
for(const{params:I}of j)for(const[d,aG]of _)if(aG.size<2)aG.add(JSON.stringify(I[d])??"");
return[..._].filter(([,aG])=>j.length<2||aG.size>1).map(([d])=>d)}function failuresOf(j){const aL=new Map();
for(const g of j){const af=plain(g.row.error);
if(!af)continue;
const a3=aL.get(af)??{error:af,trials:[]};
a3.trials.push(g);
aL.set(af,a3)}
return[...aL.values()].sort((aa,ab)=>ab.trials.length-aa.trials.length)}function pointsOf({curve:f}){if(!f)return[];
const[v,x]=f.log?[Math.log10(f.low),Math.log10(f.high)]:[f.low,f.high],ak=Math.max(1,f.letters.length-1),r=[];
[...f.letters].forEach((bx,w)=>{const a9=LETTERS.indexOf(bx),G=v+((x-v)*a9)/63,b=f.log?10**G:G;
if(a9>=0)r.push([Math.round(f.first+((f.last-f.first)*w)/ak),b])});
return r}function paramWords(b){if(b===undefined)return"";
if(typeof b==="number"&&!Number.isInteger(b))return reading(b);
return plain(typeof b==="string"?b:pythonOf(b))}function pythonOf(b){if(b===null||b===undefined)return"None";
if(b===true||b===false)return b?"True":"False";
if(Array.isArray(b))return`[${b.map(pythonOf).join(", ")}]`;
if(typeof b==="object")return`{${Object.entries(b).map(([d,J])=>`${JSON.stringify(d)}: ${pythonOf(J)}`).join(", ")}}`;
return typeof b==="string"?JSON.stringify(b):String(b)}
const WIDE=560,TALL=200,SMALL={width:220,height:150};
const MARGIN=52,BELOW=22,CEILING=10,IN_FRONT=8,MOST_LINES=300,MOST_AXES=6,AXIS_ROOM=66,MOST_WORDS=10,MOST_LABELLED=5,BESIDE_LAST=46,LINE=12,LETTER=6.5;
function rounded(aw){return Math.round(aw*10)/10}function scaleOf(_,N,T,d){let[v,x]=[Infinity,-Infinity];
for(const b of _)[v,x]=[Math.min(v,b),Math.max(x,b)];
const av=isLogarithmic(v,x,d),G=av?Math.log10:b=>b,[z,A]=[G(v),G(x)],Q=b=>rounded(N+(A>z?(G(b)-z)/(A-z):0.5)*(T-N)),bM=_.every(Number.isInteger),ak=av?logTicks(v,x):ticks(v,x).filter(J=>!bM||Number.isInteger(J));
return{at:Q,log:av,levels:ak.map(b=>({y:Q(b),label:reading(b)}))}}function layers(V){return{best:V[0]??"",front:V.slice(1,1+IN_FRONT),others:V.slice(1+IN_FRONT).join("")}}function overlaidShape(j,p,M=WIDE){const B=j.filter(({points:r})=>r.length>1).slice(0,MOST_LINES);
if(!B.length)return null;
const a_=B.flatMap(({points:r})=>r),ae=scaleOf([0,1],MARGIN,M-10),A=a_.reduce((Y,[m])=>Math.max(Y,m),1),m=F=>ae.at(F/A),{at:Q,log:av,levels:O}=scaleOf(a_.map(([,b])=>b),TALL-BELOW,CEILING,p);
const V=B.map(({points:r})=>r.map(([F,b],ag)=>`${ag?"L":"M"}${m(F)} ${Q(b)}`).join("")),aN=j.length-B.length;
return{...layers(V),wide:M,levels:O,log:av,reports:ticks(0,A).filter(Number.isInteger).map(F=>({x:m(F),label:String(F)})),words:`${plain(p)} over ${count(A+1,"report")} of ${count(B.length,"trial")}, the best in front: ${B[0].short}, ${lastWords(B[0])}`,left:aN}}function lastWords({value:b,points:r}){return`now ${reading(b??r[r.length-1][1])}`}function axisOf(d,_,N,T){const aI=_.filter(b=>b!==undefined&&b!==null);
if(aI.length&&aI.every(b=>typeof b==="number"&&Number.isFinite(b))){const{at:Q,levels:O}=scaleOf(aI,N,T,d);
const a1=[...new Set(aI)].sort((bE,bF)=>bE-bF),bw=a1.length>MOST_LABELLED?O:a1.map(b=>({y:Q(b),label:reading(b)}));
return{name:plain(d),at:b=>(typeof b==="number"?Q(b):null),levels:bw}}
const ay=[...new Set(_.map(paramWords))].sort();
if(ay.length>MOST_WORDS)return null;
const{at:Q}=scaleOf([0,Math.max(1,ay.length-1)],N,T);
const O=ay.map((k,w)=>({y:Q(w),label:k.length>10?`${k.slice(0,9)}…`:k}));
return{name:plain(d),at:b=>Q(ay.indexOf(paramWords(b))),levels:O}}function apart(O,bd){const ai=[];
for(const aO of O){const U=ai[ai.length-1];
if(!U||Math.abs(aO.y-U.y)>=(bd(aO.label)+bd(U.label))/2)ai.push(aO)}
return ai}function parallelShape(j,K,p,M=WIDE){const B=j.filter(({value:b})=>b!=null).slice(0,MOST_LINES),[N,T]=[TALL-8,26],Y=Math.min(MOST_AXES,Math.floor((M-MARGIN-BESIDE_LAST)/AXIS_ROOM)),s=K.slice(0,Y).map(d=>({name:d,axis:axisOf(d,B.map(({params:I})=>I[d]),N,T)})),aT=s.filter(({axis:ar})=>ar);
if(B.length<2||!aT.length)return null;
const a4=[...aT.map(({name:d,axis:ar})=>g=>ar?.at(g.params[d])??null)],A=(axisOf(p,B.map(({value:b})=>b),N,T));
a4.push(g=>A.at(g.value));
const aq=[...aT.map(({axis:ar})=>(ar)),A],H=(M-MARGIN-BESIDE_LAST)/(aq.length-1),m=w=>rounded(MARGIN+w*H),V=B.map(g=>{const r=a4.map((G,w)=>({x:m(w),y:G(g)})).filter(({y:C})=>C!=null);
return r.map((ba,ag)=>`${ag?"L":"M"}${ba.x} ${ba.y}`).join("")});
return{...layers(V),wide:M,axes:aq.map(({name:d,levels:O},w)=>({name:cutTo(Math.floor(H/8),d),x:m(w),levels:apart(O,()=>LINE)})),bottom:N,top:T,words:`Parallel coordinates of ${count(B.length,"trial")}: ${aq.map(({name:d})=>d).join(", ")}; the best in front: ${wordsOfBest(B[0],K,p)}`}}function cutTo(Y,ao){return ao.length>Y?`${ao.slice(0,Y-1)}…`:ao}function wordsOfBest({params:I,value:b},K,p){const ad=K.slice(0,MOST_AXES).map(d=>`${plain(d)} ${paramWords(I[d])}`);
return[...ad,`${plain(p)} ${reading(b??0)}`].join(", ")}function scatterShape(j,d,p){const B=j.filter(({value:b,params:I})=>b!=null&&I[d]!==undefined),{width:aJ,height:G}=SMALL;
const ae=B.length>1?axisOf(d,B.map(({params:I})=>I[d]),MARGIN,aJ-14):null;
if(!ae)return null;
const{at:Q,levels:O}=scaleOf(B.map(({value:b})=>b??0),G-BELOW,CEILING+8,p);
const[E,...aE]=B.map(({params:I,value:b})=>({x:ae.at(I[d])??MARGIN,y:Q(b??0)}));
return{name:plain(d),best:E,others:aE.map(aY=>`M${aY.x} ${aY.y}h0`).join(""),levels:O,below:apart(ae.levels,k=>(k.length+1)*LETTER).map(({y:C,label:k})=>({x:C,label:k})),words:`${plain(p)} against ${plain(d)} of ${count(B.length,"trial")}, the best at ${paramWords(B[0].params[d])}`}}function scatterShapes(j,K,p){return K.slice(0,MOST_AXES).map(d=>scatterShape(j,d,p)).filter(q=>q!==null)}function sparkPath({points:r}){if(r.length<2)return"";
const br=scaleOf(r.map(([,b])=>b),15,1),ae=scaleOf([r[0][0],r[r.length-1][0]],0,64),by=m=>rounded(((m-r[0][0])/(r[r.length-1][0]-r[0][0]||1))*64);
return ae&&r.map(([m,b],ag)=>`${ag?"L":"M"}${by(m)} ${br.at(b)}`).join("")}function drawLayers({best:E,front:bu,others:aE},D){return[aE&&h("path",{key:"others",class:"other",d:aE}),...bu.map((bo,w)=>h("path",{key:`front ${w}`,class:`front c${D}`,d:bo})).reverse(),h("path",{key:"best",class:`curve-line c${D}`,d:E})]}function drawOverlaid(q,p,D){return h("figure",{key:"overlaid",class:"curve wide"},h("figcaption",{class:"line"},h("span",{class:"name cut"},p),h("span",{class:"quiet"},`over reports, the best in front${q.log?", log scale":""}`)),h("svg",{viewBox:`0 0 ${q.wide} ${TALL}`,role:"img","aria-label":q.words},q.levels.map(({y:C,label:k})=>h("g",{key:k},h("path",{d:`M52 ${C}H${q.wide}`,class:"level"}),h("text",{x:47,y:C+4,"text-anchor":"end"},k))),q.reports.map(({x:m,label:k})=>h("text",{key:`at ${k}`,x:m,y:TALL-5,"text-anchor":"middle"},k)),drawLayers(q,D)))}function placeOfName({axes:aq,wide:M},w){const{x:m,name:d}=aq[w];
if(w===0)return{x:m-40,"text-anchor":"start"};
return m+(d.length*LETTER)/2>M?{x:M,"text-anchor":"end"}:{x:m,"text-anchor":"middle"}}function drawParallel(q,D){return h("figure",{key:"parallel",class:"curve wide"},h("figcaption",{class:"line"},h("span",{class:"name"},"Parameters"),h("span",{class:"quiet"},"and what came of them, the best in front")),h("svg",{viewBox:`0 0 ${q.wide} ${TALL}`,role:"img","aria-label":q.words},drawLayers(q,D),q.axes.map(({name:d,x:m,levels:O},w)=>h("g",{key:d},h("path",{class:"axis-line",d:`M${m} ${q.top}V${q.bottom}`}),h("text",{class:"axis-name",y:14,...placeOfName(q,w)},d),O.map(({y:C,label:k})=>h("text",{key:k,y:C+4,...(w===q.axes.length-1?{x:m+5}:{x:m-5,"text-anchor":"end"})},k))))))}function drawScatter(q,D){const{width:aJ,height:G}=SMALL;
return h("figure",{key:`against ${q.name}`,class:"curve"},h("figcaption",{class:"line"},h("span",{class:"name cut",title:q.name},q.name)),h("svg",{viewBox:`0 0 ${aJ} ${G}`,role:"img","aria-label":q.words},q.levels.map(({y:C,label:k})=>h("g",{key:k},h("path",{d:`M52 ${C}H${aJ}`,class:"level"}),h("text",{x:47,y:C+4,"text-anchor":"end"},k))),q.below.map(({x:m,label:k})=>h("text",{key:`at ${k}`,x:m,y:G-5,"text-anchor":"middle"},k)),h("path",{class:`dots c${D}`,d:q.others}),h("circle",{class:`curve-end c${D}`,cx:q.best.x,cy:q.best.y,r:3.5}),h("text",{class:"star",x:q.best.x,y:q.best.y-6,"text-anchor":"middle"},"★")))}
const STOPS=["Stop","Interrupt","Kill"],STEPS=["after its next report","now, with KeyboardInterrupt","at once, by ending its processes"];
function stopButton(a,c){if(!a.stop)return null;
const{label:k,about:n,order:aQ}=a.stop;
const au={"data-id":aQ,"data-name":a.name};
if(c.asked.has(aQ))return button("asked…",{...au,class:"aside","aria-label":`${k} ${a.name}`,disabled:true});
const bj=`${k} ${a.name} ${n}`;
if(!a.owner)return button(k,{...au,class:"aside","data-act":"cancel-run","aria-label":`${k} ${a.name}`,title:bj});
if(c.doubted!==aQ){return button(`${k}…`,{...au,class:"aside","data-act":"doubt","data-owner":a.owner,"aria-label":`${k} ${a.name} of ${a.owner}`,title:bj})}
return h("span",{class:"ask nowrap aside"},button("Keep",{...au,"data-act":"keep","aria-label":`Keep ${a.name} of ${a.owner}`})," ",button(`${k} it`,{...au,"data-act":"cancel-run",class:"urgent","aria-label":`${k} it: ${a.name} of ${a.owner}`}))}
const TRIAL_SIGNS={pending:"◌",running:"●",done:"✓",stopped:"⊘",error:"✕",interrupted:"⊘"};
const MOST_COLUMNS=5,MOST_NAMED=3,orders=new Map();
function drawTrials(n,P){if(!P?.rows.size)return[n.view.underWay&&empty("Asking for the trials …")];
const R=trialsOf(n.experiment,P),p=n.experiment.shown||n.experiment.metric||"",M=Math.min(WIDE,n.state.room-24),a7=p?overlaidShape(R.trials,p,M):null;
return[...drawFailures(R),tableOf(R,p,n),a7&&drawOverlaid(a7,plain(p),n.view.colour),...(n.view.underWay?[]:drawEnd(R,p,n.view.colour,M))]}function drawEnd({trials:j,names:K},p,D,M){const a8=parallelShape(j,K,p,M),bg=scatterShapes(j,K,p);
return[a8&&drawParallel(a8,D),bg.length>0&&h("div",{key:"scatters",class:"curves",role:"group","aria-label":`${plain(p)} against each parameter`},bg.map(q=>drawScatter(q,D)))]}function drawFailures({failures:a0}){if(!a0.length)return[];
const aC=({error:af,trials:j})=>{const bL=j.slice(0,MOST_NAMED).map(({short:an})=>an).join(", ")+(j.length>MOST_NAMED?", …":"");
return h("li",{key:af},h("span",{class:"state failed"},h("span",{class:"sign","aria-hidden":"true"},"✕"),` ${count(j.length,"trial")} failed: `),af," ",h("span",{class:"quiet"},bL))};
return[h("ul",{key:"failures",class:"lines","aria-label":"Failures"},a0.map(aC))]}function tableOf(R,p,n){const{id:o,name:d}=n.view;
const K=R.names.slice(0,MOST_COLUMNS),j=inOrder(R.trials,n),ah={device:j.some(g=>deviceOf(g,n)),why:j.some(({row:l})=>l.waits)};
const bm=["Trial","State",...K.map(plain),...(p?[plain(p),"Curve"]:[]),...(ah.device?["Device"]:[]),"Took",...(ah.why?["Why"]:[]),""],bh=n.state.sights.get(o)??{top:0,height:460,row:33};
const{first:z,last:A}=inSight(j.length,bh);
const P=j.slice(z,A).map(g=>drawRow(g,K,p,ah,n)),a2=(bK,bf)=>bf>0&&h("tr",{key:bK,class:"gap","aria-hidden":"true",style:`height:${Math.round(bf*bh.row)}px`}),bH=([a2("above",z),...P,a2("below",j.length-A)].filter(Boolean));
return table(`Trials of ${d}`,bm,bH,{rows:j.length,sight:o})}function inOrder(j,{view:e,state:c}){const U=c.heldSight===e.id?orders.get(e.id):null;
if(!U){orders.set(e.id,j);
return j}
const t=new Map(j.map(g=>[g.id,g])),bI=U.map(({id:o})=>t.get(o)).filter(g=>g!==undefined),known=new Set(U.map(({id:o})=>o));
return[...bI,...j.filter(({id:o})=>!known.has(o))]}function drawRow(g,K,p,ah,n){const{row:l}=g;
const c=trialState(g,n),ax=c==="running"?` ink c${n.view.colour}`:"",ad=g.value!=null?reading(g.value):plain(l.value==null?"":String(l.value)),aC=sparkPath(g),bp=deviceOf(g,n);
return h("tr",{key:g.id,"data-trial":g.id},h("th",{scope:"row",title:plain(g.id)},h("span",{class:"name"},g.short)),h("td",{class:`nowrap state ${c==="error"?"failed":c==="pending"?"waiting":c}`},h("span",{class:`sign${ax}`,"aria-hidden":"true"},TRIAL_SIGNS[c]??"◌"),` ${l.waits&&n.view.underWay?"waiting":c}`),K.map(d=>h("td",{key:d,class:"nowrap","data-head":plain(d)},h("span",{class:"cut",title:paramWords(g.params[d])},paramWords(g.params[d])))),p&&h("td",{class:"nowrap","data-head":plain(p)},ad),p&&h("td",{class:"trend"},aC&&h("svg",{class:"spark",viewBox:"0 0 64 16",preserveAspectRatio:"none",role:"img","aria-label":`${count(l.reports??0,"report")}`},h("path",{d:aC}))),ah.device&&cell(bp,"nowrap"),cell(tookWords(g,n),"nowrap"),ah.why&&cell(whyOf(g,n),"why"),cell([stopButton(stoppable(g,n),n.state),copyButton(g)],"acts"))}function trialState({row:l,state:c},{view:e}){return!e.underWay&&l.started_at&&["running","pending"].includes(c)?"interrupted":c}function deviceOf(g,n){return trialState(g,n)==="interrupted"?"":deviceWords(g.row.devices)}function tookWords({row:l,state:c},{view:e,experiment:i,now:t}){if(!l.started_at)return"";
const aW=l.started_at+(l.idle_s??0),aZ=l.ended_at??(e.underWay?null:i.ended_at);
if(aZ)return duration(aZ-aW);
return c==="running"&&e.underWay?age(t-aW):""}function whyOf({id:o,row:l},{view:e,whys:aU}){if(!l.waits||!e.underWay)return"";
return aU.get(`${e.name} ${plain(o)}`)??"its process is being started"}function stoppable({id:o,short:an,row:l,state:c},{view:e}){const H=Math.min(l.stops??0,STOPS.length-1),bs=e.underWay&&(c==="running"||c==="pending"),n=c==="pending"?"before it begins":STEPS[H];
return{name:`trial ${an}`,owner:e.owner,stop:bs?{label:STOPS[H],about:n,order:`${e.id}/${l.stops??0}/${o}`}:null}}function copyButton({short:an,row:l}){const ao=pythonOf(l.config??{});
return button("Config",{"data-act":"copy","data-text":ao,"data-name":`the config of trial ${an}`,"aria-label":`Copy the config of trial ${an}`,title:`Copy ${plain(ao)}`})}
const EXPERIMENT_SIGNS={running:"●",stopping:"●",finished:"✓",stopped:"⊘",failed:"✕"};
const MOST_PARAMETERS=4;
function goesOn(i){return["running","stopping"].includes(i.state??"running")}function experimentView(i,t,u){const L=goesOn(i)&&!u,c=goesOn(i)&&u?"ended with it":(i.state??"running"),H=Math.min(i.stops??0,STOPS.length-1);
return{id:i.id,name:plain(i.name),owner:plain(i.owner),state:c,sign:c==="ended with it"?"–":(EXPERIMENT_SIGNS[c]??"◌"),colour:i.hue*PALETTE.hues[0].length,underWay:L,time:i.started_at?age((i.ended_at??t)-i.started_at):"",progress:trialWords(i),metrics:bestWords(i),best:bestWords(i,Infinity),why:plain(i.why),path:plain(i.path),goOn:L||c==="finished"?"":`tune.Tuner.restore(${JSON.stringify(i.path)}, trainable)`,stop:L?{label:STOPS[H],about:STEPS[H],order:`${i.id}/${i.stops??0}`}:null}}function trialWords(i){const{counts:X={},total:bk}=i;
const aF=goesOn(i)?"running":"interrupted",u=["done","stopped","error"].reduce((bJ,c)=>bJ+(X[c]??0),0),ad=bk==null?`${count(u,"trial")} ended`:`${u} of ${count(bk,"trial")} ended`;
return[ad,X.running?`${X.running} ${aF}`:"",X.error?`${X.error} failed`:""].filter(Boolean).join(" · ")}function bestWords({best:E,metric:p},Y=MOST_PARAMETERS){if(!E)return"";
const I=Object.entries(E.config).map(([d,b])=>`${plain(d)} ${plain(b)}`),ad=I.slice(0,Y).join(", ")+(I.length>Y?", …":"");
return`${plain(p)} ${reading(E.value)}${ad&&` with ${ad}`}`}function head(a,c,d,bl){const aK=[a.owner,a.time,a.progress,bl&&a.metrics].filter(Boolean).join(" · ");
return h("div",{class:"line head",key:"head"},d,stateOf(a),h("span",{class:"facts quiet"},aK),stopButton(a,c))}function stateOf({state:c,sign:aS,colour:D}){const ax=c==="running"?` ink c${D}`:"";
return h("span",{class:`nowrap state ${c}`},h("span",{class:`sign${ax}`,"aria-hidden":"true"},aS),` ${c}`)}function openExperiments({experiments:ac=[]},c){const L=ac.filter(goesOn).slice(0,1),z=new Set((L.length?L:ac.slice(0,1)).map(({id:o})=>o));
return ac.map(({id:o})=>o).filter(o=>z.has(o)!==c.open.has(o))}function drawExperiments(s,t,u,c,Z){const ac=s.experiments??[];
if(!ac.length)return[];
const aj=new Set(openExperiments(s,c)),aU=waitsOf(Z),P=ac.map(i=>{const e=experimentView(i,t,u),aB=aj.has(e.id),d=h("button",{type:"button",class:"opens","data-act":"group","data-function":e.id,"aria-expanded":String(aB)},h("span",{"aria-hidden":"true"},aB?"▾ ":"▸ "),nameOf(e.name));
return h("li",{key:e.id},head(e,c,d,!aB),aB&&h("div",{class:"run"},trialDetails({view:e,experiment:i,state:c,now:t,whys:aU})))});
return[h("ul",{class:"runs",key:"experiments","aria-label":"Experiments"},P)]}function drawExperiment(i,t,u,c,Z){const e=experimentView(i,t,u);
return[head(e,c,nameOf(e.name),false),h("div",{class:"run",key:"run"},trialDetails({view:e,experiment:i,state:c,now:t,whys:waitsOf(Z)}))]}function trialDetails(n){const{view:e,state:c}=n;
const a$=e.state==="failed";
return[e.why&&h("p",{key:"why",class:a$?"attention":""},a$&&h("strong",{},h("span",{"aria-hidden":"true"},"⚠ "),"Attention: "),e.why),e.best&&h("p",{key:"best"},`best: ${e.best} (trial ${shortTrial(n.experiment.best?.id??"")})`),...drawTrials(n,c.past[`rows/${e.id}`]?.data??null),h("p",{key:"path",class:"quiet path"},e.path),e.goOn&&empty("Go on:",e.goOn)]}function waitsOf(Z){const P=(Z?.tasks??[]).filter(l=>l.state.startsWith("PENDING"));
return new Map(P.map(l=>[plain(l.name),plain(l.reason==null?l.why:Z?.reasons?.[l.reason])]))}
const WIDTH=280,HEIGHT=136,LEFT=46,FLOOR=HEIGHT-20,TOP=16,RIGHT=10;
function curveShape(f,W){const r=f.points,[aV,$]=[r.map(([m])=>m),r.map(([,C])=>C)],[z,A]=[aV[0],aV[aV.length-1]],[v,x]=[Math.min(...$),Math.max(...$)],aA=isLogarithmic(v,x,f.name),G=aA?Math.log10:b=>b,[N,T]=[G(v),G(x)],m=F=>round(LEFT+((F-z)/(A-z||1))*(WIDTH-LEFT-RIGHT)),C=b=>round(TOP+(1-(T>N?(G(b)-N)/(T-N):0.5))*(FLOOR-TOP-6)),aD=W.filter(({report:F})=>F>=z&&F<=A),E=aD.find(bz=>bz.best),d=plain(f.name);
return{name:d,isLog:aA,last:reading($[$.length-1]),line:r.map(([F,b],ag)=>`${ag?"L":"M"}${m(F)} ${C(b)}`).join(""),end:{x:m(A),y:C($[$.length-1])},levels:(aA?logTicks(v,x):ticks(v,x)).map(b=>({y:C(b),label:reading(b)})),reports:ticks(z,A).filter(Number.isInteger).map(b=>({x:m(b),label:String(b)})),marks:aD.map(({report:F})=>m(F)),best:E?m(E.report):null,words:[`${d} over ${count(A-z+1,"report")}: from ${reading($[0])} to ${reading($[$.length-1])}`,`between ${reading(v)} and ${reading(x)}${aA?" on a logarithmic axis":""}`,aD.length?count(aD.length,"checkpoint"):"",E?`the best one at report ${E.report}`:""].filter(Boolean).join(", ")}}function round(aw){return Math.round(aw*10)/10}function drawCurves(at,D){if(!at.length)return null;
return h("div",{class:"curves",key:"curves"},at.map(f=>drawCurve(f,D)))}function drawCurve(f,D){return h("figure",{key:f.name,class:"curve"},h("figcaption",{class:"line"},h("span",{class:"name cut",title:f.name},f.name),f.isLog&&h("span",{class:"quiet small"},"log scale"),h("span",{class:"last"},f.last)),h("svg",{viewBox:`0 0 ${WIDTH} ${HEIGHT}`,role:"img","aria-label":f.words},f.levels.map(({y:C,label:k})=>h("g",{key:k},h("path",{d:`M${LEFT} ${C}H${WIDTH}`,class:"level"}),h("text",{x:LEFT-5,y:C+4,"text-anchor":"end"},k))),f.reports.map(({x:m,label:k})=>h("text",{key:`at ${k}`,x:m,y:HEIGHT-5,"text-anchor":"middle"},k)),f.marks.length>0&&h("path",{class:"marks",d:f.marks.map(m=>`M${m} ${FLOOR}v-6`).join("")}),f.best!=null&&h("path",{class:"best",d:`M${f.best} ${FLOOR}V14`}),f.best!=null&&h("text",{class:"star",x:f.best,y:11,"text-anchor":"middle"},"★"),h("path",{class:`curve-line c${D}`,d:f.line}),h("circle",{class:`curve-end c${D}`,cx:f.end.x,cy:f.end.y,r:2.5})))}
const UNDER_WAY=["waiting","running","stopping","restarting"],SIGNS={waiting:"◌",restarting:"◌",running:"●",stopping:"●",finished:"✓",returned:"✓",stopped:"⊘",failed:"✕"};
const METRICS=4;
function isUnderWay(a){return UNDER_WAY.includes(a.state??"waiting")}function runView(a,t,u){const L=isUnderWay(a),c=L&&u?"ended with it":(a.state??"waiting"),am=a.ranks??[],at=a.curves??[],W=a.checkpoints??[],E=W.some(J=>J.best),H=Math.min(a.stops??0,STOPS.length-1);
return{id:a.id,name:plain(a.name),owner:plain(a.owner),state:c,sign:c==="ended with it"?"–":signOf(c),colour:a.hue*PALETTE.hues[0].length,underWay:L&&!u,time:timeWords(a,t),progress:progressWords(a),gang:am.length?gangWords(a):"",metrics:metricWords(a),ranks:am.map(y=>rankView(y,a)),rankCounts:rankCounts(a),curves:at.filter(f=>f.points.length>1).map(f=>curveShape(f,W)),checkpoints:checkpointWords(a),marked:E&&at.length>0,load:a.load??"",loads:E?"Load the best one:":"Load the newest one:",path:plain(a.path),why:plain(a.why),resume:L&&!u?"":resumeWords(a,c),stop:L&&!u?{label:STOPS[H],about:STEPS[H],order:`${a.id}/${a.stops??0}`}:null}}function signOf(c){return SIGNS[c]??"◌"}function rankView(y,a){const c=y.state??"waiting",F=y.report==null?"":`report ${y.report}`,aK=[c,F,deviceWords(y.devices),y.pid?`pid ${y.pid}`:"",plain(y.node)];
return{rank:y.rank,state:c,sign:signOf(c),colour:a.hue*PALETTE.hues[0].length+(y.rank%PALETTE.hues[0].length),report:F,title:`rank ${y.rank}: ${aK.filter(Boolean).join(", ")}`}}function gangWords(a){const aM={};
for(const y of a.ranks??[]){for(const[bc,bv]of Object.entries(y.devices??{}))aM[bc]=[...new Set([...(aM[bc]??[]),...bv])]}
const ap=count(Math.max(a.workers??0,(a.ranks??[]).length),"worker"),aX=deviceWords(aM),J=Object.keys(a.each??{}).length?`${ap} with ${demandWords(a.each)} each`:ap;
return[aX?`${ap} on ${aX}`:J,a.backend].filter(Boolean).join(" · ")}function progressWords(a){const known=a.epochs!=null&&a.epochs_done!=null,bt=known?`${amount(a.epochs_done??0)} of ${count(a.epochs??0,"epoch")}`:a.epoch==null?"":`epoch ${amount(a.epoch)}`,aN=a.left_s!=null&&isUnderWay(a)?`about ${age(a.left_s)} left`:"";
return[bt,aN,a.reports?count(a.reports,"report"):"no report yet"].filter(Boolean).join(" · ")}function timeWords(a,t){return a.started_at?age((a.ended_at??t)-a.started_at):""}function metricWords(a){return(a.curves??[]).slice(0,METRICS).map(({name:d,points:r})=>`${plain(d)} ${reading(r[r.length-1][1])}`).join(", ")}function checkpointWords({checkpoints:W=[],kept:ai=0}){const E=W.find(J=>J.best),bB=E?`best ${plain(E.name)}`:`newest ${plain(W.at(-1)?.name)}`;
return W.length?`${count(Math.max(ai,W.length),"checkpoint")}, ${bB}`:""}function rankCounts({ranks:am=[],workers:ap=0}){const X=new Map();
for(const{state:c="waiting"}of am)X.set(c,(X.get(c)??0)+1);
const bA=ap>am.length?[`and ${ap-am.length} more`]:[];
return[...[...X].map(([c,aw])=>`${aw} ${c}`),...bA].join(", ")}function resumeWords(a,c){if(c==="finished")return"";
const a5=(a.checkpoints??[]).at(-1)?.name;
return`Resume: run the cell again; a run of the same name goes on from ${a5?plain(a5):"its beginning, since it has no checkpoint"}`}
const OPEN_AT_FIRST=2;
function drawRuns(s,t,u,c){const L=s.runs.filter(isUnderWay).slice(0,OPEN_AT_FIRST),z=new Set((L.length?L:s.runs.slice(0,1)).map(a=>a.id)),P=s.runs.map(a=>{const e=runView(a,t,u);
return drawRun(e,c,z.has(a.id)!==c.open.has(e.id))});
return[P.length>0&&h("ul",{class:"runs",key:"runs","aria-label":"Training runs"},P),Boolean(s.more)&&h("p",{class:"quiet",key:"more"},`and ${count(s.more??0,"more run")}`)]}function drawOneRun(s,t,u,c){const a=runView(s,t,u);
return[head(a,c,nameOf(a.name),false),h("div",{class:"run",key:"run"},details(a))]}function drawBrief(s,t,u,c){if(u)return[];
const ac=(s.experiments??[]).filter(goesOn).map(i=>experimentView(i,t,false)),aF=[...ac,...s.runs.filter(isUnderWay).map(a=>runView(a,t,false))];
if(!aF.length)return[];
return[h("ul",{class:"runs",key:"runs","aria-label":"Runs under way"},aF.map(a=>h("li",{key:a.id},head(a,c,nameOf(a.name),true))))]}function drawRun(a,c,aj){const d=h("button",{type:"button",class:"opens","data-act":"group","data-function":a.id,"aria-expanded":String(aj)},h("span",{"aria-hidden":"true"},aj?"▾ ":"▸ "),nameOf(a.name));
return h("li",{key:a.id},head(a,c,d,!aj),aj&&h("div",{class:"run"},details(a)))}function details(a){return[a.why&&h("p",{key:"why",class:a.state==="failed"?"attention":""},a.state==="failed"&&h("strong",{},h("span",{"aria-hidden":"true"},"⚠ "),"Attention: "),a.why),a.gang&&h("p",{key:"gang"},a.gang),a.ranks.length>0&&h("ul",{key:"ranks",class:"ranks","aria-label":`Ranks: ${a.rankCounts}`},a.ranks.map(drawRank)),drawCurves(a.curves,a.colour),a.checkpoints&&h("p",{key:"checkpoints"},a.marked?`${a.checkpoints}, marked ★`:a.checkpoints),a.load&&empty(a.loads,a.load),h("p",{key:"path",class:"quiet path"},a.path),a.resume&&h("p",{key:"resume",class:"quiet"},a.resume)]}function drawRank(y){const ax=y.state==="running"?` ink c${y.colour}`:"";
return h("li",{key:String(y.rank),title:y.title,class:`state ${y.state}`},h("span",{class:"unseen"},"rank "),String(y.rank)," ",h("span",{class:`sign${ax}`,"aria-hidden":"true"},y.sign),h("span",{class:"unseen"},` ${y.state}`))}
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
function viewOfRuns(aR){const P=a=>({...a,ranks:rowsOf(a.ranks),checkpoints:rowsOf(a.checkpoints)}),s={...aR,runs:(aR.runs??[]).map(P),experiments:aR.experiments??[]};
const aH=h("style",{key:"look of runs"},RUNS_STYLE),e=(t,u,Z)=>({active:u?0:s.runs.filter(isUnderWay).length+(s.experiments??[]).filter(goesOn).length,draw:c=>[aH,...drawExperiments(s,t,u,c,Z),...drawRuns(s,t,u,c)],brief(c){const V=drawBrief(s,t,u,c);
return V.length?[aH,...V]:[]},only(c){const[a,i]=[s.runs.find(({id:o})=>o===c.only),s.experiments?.find(({id:o})=>o===c.only)];
if(a)return[aH,...drawOneRun(a,t,u,c)];
return i?[aH,...drawExperiment(i,t,u,c,Z)]:[]}});
e.open=c=>(c.only?(s.experiments??[]).map(({id:o})=>o).filter(o=>o===c.only):openExperiments(s,c));
return e}
return viewOfRuns}
