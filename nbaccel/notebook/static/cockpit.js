// nbaccel's cockpit, joined from nbaccel/notebook/cockpit/ by tools/join_cockpit.py. Change it there.
function copyText(w,q){const cG=w.defaultView?.navigator.clipboard;
if(cG)cG.writeText(q).catch(()=>copySelected(w,q));
else copySelected(w,q)}
function copySelected(w,q){const aL=w.createElement("textarea");
aL.value=q;
aL.style.position="fixed";
w.body.append(aL);
aL.select();
w.execCommand("copy");
aL.remove()}
const STEP=0.8;
function isHere(i,H){return H.startsWith("[")&&Boolean(i.closest(".jp-Notebook"))}
async function d5(i,H,av){const b2=i.closest(".jp-Notebook");
const w=i.ownerDocument.defaultView;
if(!b2||!w)return;
const cs=H.split(" ")[0];
const ax=(q)=>[...b2.querySelectorAll(".jp-InputPrompt")].find((D)=>D.textContent===`${q}:`)?.closest(".jp-Cell");
const bL=b2.querySelector(".jp-WindowedPanel-outer")??b2;
const z=bL.scrollTop;
let cell=ax(cs);
for(let aW=0;!cell&&aW<bL.scrollHeight;aW+=STEP*bL.clientHeight){bL.scrollTop=aW;
await new Promise((ak)=>w.requestAnimationFrame(()=>w.requestAnimationFrame(ak)));
cell=ax(cs)}
if(!cell)bL.scrollTop=z;
cell??=ax("[*]");
if(!cell)return av(`No cell of this notebook is ${cs} any more.`);
cell.scrollIntoView({block:"center"});
(cell).focus({preventScroll:true})}
const SIZES=([[2**40,"TiB"],[2**30,"GiB"],[2**20,"MiB"],[2**10,"KiB"]]);
const ENDED=new Set(["FINISHED","FAILED","CANCELLED"]);
const RUNNING=new Set(["RUNNING","RUNNING_IN_RAY_GET","RUNNING_IN_RAY_WAIT","SUBMITTED_TO_WORKER"]);
function amount(bJ){return String(Math.round(bJ*10000)/10000)}
function size(bX){if(bX==null)return"unknown";
for(const[b8,U]of SIZES){if(bX>=b8){const I=bX/b8;
return`${I>=10||Number.isInteger(I)?Math.round(I):I.toFixed(1)} ${U}`}}
return`${bX} B`}
function age(aA){const aD=Math.max(0,Math.floor(aA));
if(aD<60)return`${aD} s`;
const[b8,b$,au,dL]=aD<3600?["min",60,aD%60,"s"]:["h",3600,Math.floor((aD%3600)/60),"min"];
return`${Math.floor(aD/Number(b$))} ${b8}${au?` ${String(au).padStart(2,"0")} ${dL}`:""}`}
function duration(aA){return aA<9.95?`${Math.max(0,aA).toFixed(1)} s`:age(aA)}
function clock(bP,k){const t=new Date(bP*1000);
const bQ=(l)=>String(l).padStart(2,"0");
const[ds,cH]=[`${bQ(t.getMonth()+1)}-${bQ(t.getDate())}`,`${bQ(t.getHours())}:${bQ(t.getMinutes())}`];
return t.toDateString()===new Date(k*1000).toDateString()?`${cH}:${bQ(t.getSeconds())}`:`${ds} ${cH}`}
function plain(q){return(q??"").replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,(dp)=>`\\u${dp.charCodeAt(0).toString(16).padStart(4,"0")}`)}
function hostWords(g){return/^[\d.:]+$/.test(g)?g:g.split(".")[0]}
function count(l,cl){return l===1||cl.endsWith("s")?`${l} ${cl}`:`${l} ${cl}s`}
function demandWords(dt){const ae=Object.entries(dt??{}).filter(([,bJ])=>bJ);
return ae.map(([g,bJ])=>`${amount(bJ)} ${plain(g)}`).join(", ")||"nothing"}
function deviceWords(bm){return Object.entries(bm??{}).filter(([,a3])=>a3.length).map(([g,a3])=>`${plain(g)} ${a3.map(plain).join(", ")}`).join("; ")}
function shortId(A){const dS=A.length===48&&A.startsWith("000000",24);
if(dS)return`${A.slice(0,4)}-${parseInt(A.slice(30,40),16)}`;
return A.startsWith("f".repeat(16))?A.slice(16,28):A.slice(0,12)}
function taskName(g){return plain(g).replace(/\.__init__$/," (starting)")}
function stateWord(a){if(RUNNING.has(a))return"running";
if(a.startsWith("PENDING"))return"waiting";
return a.toLowerCase().replaceAll("_"," ")}
function stateSign(U){return{running:"●",waiting:"◌",finished:"✓",failed:"✕",cancelled:"⊘","ended with it":"–",alive:"●",dead:"✕"}[U]??"◌"}
function ownerOf(c,row){if(!row.job||row.job===c.runtime.job||!c.jobs?.length)return"";
return plain(c.jobs.find((dK)=>dK.number===row.job)?.name??`job ${row.job}`)}
function cellWords(c,row){return[ownerOf(c,row),plain(row.cell)].filter(Boolean).join(" ")}
const LONG_S=60;
const MOST_RUNNING=10_000;
function endings(bn,c){const aB=[];
if(bn.running.size>MOST_RUNNING)bn.running.clear();
for(const row of c.tasks??[]){if(!ENDED.has(row.state)){if(row.started_at!=null&&!ownerOf(c,row))bn.running.add(row.task_id);
continue}
if(!bn.running.delete(row.task_id)||row.started_at==null)continue;
const aA=(row.finished_at??c.time??0)-row.started_at;
if(aA<LONG_S)continue;
const aX=row.reason==null?row.why:c.reasons?.[row.reason];
const cy=`${plain(row.name)} #${shortId(row.task_id)} ${{FINISHED:"has finished",FAILED:"has failed"}[row.state]??`was ${stateWord(row.state)}`}`;
aB.push({id:row.task_id,title:cy,body:[`after ${age(aA)}`,row.cell&&`cell ${plain(row.cell)}`,plain(aX)].filter(Boolean).join(" · ")})}
return aB}
async function ee(w,a,av){const bG=(w)?.Notification;
if(a.notices){a.notices=false;
av("");
return}
if(!bG)return av("This browser shows no notices.");
a.notices=(await bG.requestPermission())==="granted";
av(a.notices?"The browser will tell you when a task of more than a minute ends or fails.":"The browser does not let this page show notices. Its settings for this site can change that.")}
function notify(w,aB){const bG=(w)?.Notification;
if(!bG)return;
for(const{id:A,title:cy,body:bz}of aB)new bG(cy,{body:bz,tag:`nbaccel-${A}`})}
const OFFERED="nbaccel-order";
function secondWay(i,M,E,taken){const br=M.snapshot()?.runtime.pid;
const dT=new CustomEvent(OFFERED,{bubbles:true,cancelable:true,detail:{message:E,pid:br,taken}});
return!i.dispatchEvent(dT)}
const TILES=".scroll.of-tiles";
const REGIONS=".scroll[data-sight]";
function watchRows(i,a,az){const aJ=(o)=>{const B=(o.target);
if(B.matches?.(TILES))measureTiles(i,a);
else if(B.matches?.(REGIONS))note(B,a);
else return;
az()};
const moved=(o)=>{const bz=o.type==="pointerover"?(o.target).closest?.(`${REGIONS} tbody`):null;
const aI=(bz?.closest(REGIONS)??null)?.dataset.sight??"";
if(aI===a.heldSight)return;
a.heldSight=aI;
az()};
return listening(i,aJ,moved)}
function listening(i,aJ,moved){i.addEventListener("scroll",aJ,true);
i.addEventListener("pointerover",moved);
i.addEventListener("pointerleave",moved);
return()=>{i.removeEventListener("scroll",aJ,true);
i.removeEventListener("pointerover",moved);
i.removeEventListener("pointerleave",moved)}}
function measureRows(i,a){const d1=([...i.querySelectorAll(REGIONS)]);
return d1.map((B)=>note(B,a)).some(Boolean)}
function measureTiles(i,a){const B=i.querySelector(TILES);
const tile=B?.querySelector("li:not(.gap)");
const list=tile?.parentElement;
if(!B||!tile||!list)return false;
const bw=getComputedStyle(list);
const k={top:B.scrollTop,height:B.clientHeight,columns:bw.gridTemplateColumns.split(" ").length,row:tile.getBoundingClientRect().height+parseFloat(bw.rowGap)};
const z=a.tiles;
a.tiles=k;
return z?.columns!==k.columns||Math.abs(z.top-k.top)>k.row||Math.abs(z.height-k.height)>k.row||Math.abs(z.row-k.row)>0.1}
function note(B,a){const g=B.dataset.sight??"";
const z=a.sights.get(g);
const rows=B.querySelectorAll("tbody tr:not(.gap)");
if(!rows.length)return false;
const aq=(rows[rows.length-1].getBoundingClientRect().bottom-rows[0].getBoundingClientRect().top)/rows.length;
const R=z&&(aq<8||Math.abs(aq-z.row)<4);
a.sights.set(g,{top:B.scrollTop,height:Math.max(B.clientHeight,100),row:R?z.row:aq});
return!R||Math.abs(z.top-B.scrollTop)>1}
const TASKS='.scroll[aria-label="Tasks"]';
function watchSight(i,a,az){const aJ=(o)=>{const B=(o.target);
if(a.log&&B.matches?.(".printed"))a.log.follow=B.scrollTop+B.clientHeight>B.scrollHeight-4;
if(!B.matches?.(TASKS))return;
a.scrolled={...a.scrolled,top:B.scrollTop,height:B.clientHeight};
az()};
const moved=(o)=>{const aI=o.type==="pointerover"&&Boolean((o.target).closest?.(`${TASKS} tbody`));
if(aI===Boolean(a.held))return;
a.held=aI?a.order:null;
az()};
return listening(i,aJ,moved)}
function measure(i,a){const B=i.querySelector(TASKS);
if(!B?.querySelector("tr[data-task]"))return false;
const z=a.scrolled;
const cP=(ei)=>[...B.querySelectorAll(ei)].map((D)=>D.getBoundingClientRect().height);
const cV=(u,m)=>{const k=u.reduce((aj,D)=>aj+D,0)/u.length;
return k>8&&Math.abs(k-m)>=4?k:m};
const[row,aN]=[cV(cP("tr[data-task]"),z.row),cV(cP("tr.reason"),z.reason)];
const R=row===z.row&&aN===z.reason;
a.scrolled={top:B.scrollTop,height:Math.max(B.clientHeight,100),row,reason:aN};
return!R||Math.abs(a.scrolled.top-z.top)>1}
const SAY_EVERY_MS=5000;
function speaker(a,r){let T=0;
let aE;
return(H)=>{clearTimeout(aE);
const b9=Math.max(0,T+SAY_EVERY_MS-Date.now());
aE=setTimeout(()=>{T=Date.now();
a.said=H;
r.redraw()},a.said?b9:0)}}
const LEAST_S=0.05;
const LEAST_DRAG_PX=6;
const CARD_PX=246;
const HOVERS=["pointerover","pointerleave","focusin","focusout"];
function zoomed({from,to:a5},bW,place=0.5){const b$=Math.max(LEAST_S,(a5-from)*bW);
const t=from+(a5-from)*place;
return{from:t-b$*place,to:t+b$*(1-place)}}
function moved({from,to:a5},be){const bW=(a5-from)*be;
return{from:from+bW,to:a5+bW}}
function keyed(y,aM){if(y==="+"||y==="=")return{range:zoomed(aM,0.5)};
if(y==="-")return{range:zoomed(aM,2)};
if(y==="ArrowLeft")return{range:moved(aM,-0.2)};
if(y==="ArrowRight")return{range:moved(aM,0.2)};
return y==="0"||y==="Home"?{range:null}:null}
function placeOfCard(i,bV){const[bj,a7]=[i.getBoundingClientRect(),bV.getBoundingClientRect()];
const ar=Math.max(8,Math.min(a7.left,bj.right-CARD_PX)-bj.left);
const by=a7.top-bj.top<bj.height/2?`top:${a7.bottom-bj.top+4}px`:`bottom:${bj.bottom-a7.top+4}px`;
return`left:${Math.round(ar)}px;max-width:${CARD_PX-16}px;${by}`}
function watchZoom(i,a,ab,az){let aQ=null;
const c5=(o)=>(o.target).closest?.("svg.timeline");
const placeOf=(aO,el)=>{const a7=aO.getBoundingClientRect();
const{width:ek,left:ar,right:ct}=a.lanes;
return Math.min(1,Math.max(0,(((el-a7.left)/a7.width)*ek-ar)/(ct-ar)))};
const dg=(o)=>{const aO=c5(o);
if(!aO||!(o.ctrlKey||o.metaKey))return;
o.preventDefault();
a.range=zoomed(ab(),o.deltaY>0?1.25:0.8,placeOf(aO,o.clientX));
az(true)};
const pressed=(o)=>{const aO=c5(o);
aQ=aO&&o.button===0?{x:o.clientX,place:placeOf(aO,o.clientX)}:null};
const c1=(o)=>{const aO=i.querySelector("svg.timeline");
if(!aQ||!aO||Math.abs(o.clientX-aQ.x)<LEAST_DRAG_PX)return void(aQ=null);
const[ar,ct]=[aQ.place,placeOf(aO,o.clientX)].sort((N,J)=>N-J);
const{from,to:a5}=ab();
const aM={from:from+(a5-from)*ar,to:from+(a5-from)*ct};
if(aM.to-aM.from>=LEAST_S)a.range=aM;
aQ=null;
az(true)};
const cQ=(o)=>{const aI=(/pointerover|focusin/.test(o.type)?(o.target).closest?.("[data-bar]"):null);
const bV=aI?.dataset.bar??"";
if(bV===a.hover.bar)return;
a.hover={bar:bV,style:aI?placeOfCard(i,aI):""};
az(false)};
const y=(o)=>{const dU=(o.target).matches?.('.scroll[aria-label="Timeline"]');
const ak=dU&&!o.ctrlKey&&!o.metaKey?keyed(o.key,ab()):null;
if(!ak)return;
a.range=ak.range;
o.preventDefault();
az(true)};
i.addEventListener("wheel",dg,{passive:false});
i.addEventListener("pointerdown",pressed);
i.addEventListener("pointerup",c1);
for(const cz of HOVERS)i.addEventListener(cz,cQ);
const ah=()=>{i.removeEventListener("wheel",dg);
i.removeEventListener("pointerdown",pressed);
i.removeEventListener("pointerup",c1);
for(const cz of HOVERS)i.removeEventListener(cz,cQ)};
return{key:y,end:ah}}
const TAKEN_WITHIN_MS=1500;
function actions(i,M,a,r){const bR=new Map();
const av=speaker(a,r);
const bI=(E,g)=>{a.doubted="";
M.send(E);
a.asked.add(E.id);
clearTimeout(bR.get(E.id));
bR.set(E.id,setTimeout(()=>{if(E.say!=="retry"&&secondWay(i,M,E,av))return;
av(`The kernel is busy and takes messages only between cells: ${g} is told when the running cell ends. To end the cell itself, use Stop.`)},TAKEN_WITHIN_MS));
r.redraw()};
const bi={cancel:(n)=>bI({say:"cancel",id:n.id},`${n.name}`),retry:(n)=>bI({say:"retry",id:n.id},`${n.name}`),kill:(n)=>bI({say:"kill",id:n.id},`${n.name}`),"cancel-run":(n)=>bI({say:"stop",id:n.id},`${n.name}`),doubt(n){a.doubted=n.id??"";
av(`${n.name} belongs to ${n.owner}, not to this notebook.`)},notices:()=>void ee(i.ownerDocument.defaultView,a,av).then(r.more),sure:(n)=>void(a.doubted=n.id??""),"cancel-many":(n)=>bI({say:"cancel-many",id:n.id,function:n.function,filter:{state:n.state,cell:n.cell,text:n.text}},`${n.name}`),keep(){a.doubted="";
av("")},logs(n){delete a.past.task_log;
a.log=a.log?.id===n.id?null:{id:n.id??"",name:n.name??"",search:"",follow:true};
r.look()},"close-log":()=>void(a.log=null),go:({cell=""})=>void(M.go?M.go(cell):d5(i,cell,av)),details(){a.details=!a.details;
r.look()},tab(n){a.details=true;
a.tab=n.tab??"devices";
r.look()},window(n){a.window=Number(n.window);
a.range=null;
r.look()},zoom(n){a.range=zoomed(a.shown,Number(n.by));
r.look()},follow(){a.range=null;
r.look()},"ask-more"(){a.wide=true;
r.more();
r.look()},count(n){a.details=true;
a.tab="tasks";
a.filter={state:n.state==="ended with it"?"":(n.state??""),cell:"",text:n.text??""};
r.look()},sort(n){const aY=n.column??"";
a.sort={column:aY,down:a.sort.column===aY&&!a.sort.down};
a.held=null},group:(n)=>void(a.open.delete(n.function??"")||a.open.add(n.function??"")),tile:(n)=>void(a.device=a.device===n.device?"":(n.device??"")),copy(n){copyText(i.ownerDocument,n.text??"");
av(`Copied ${n.name}.`)},trace(){const c=M.snapshot();
if(c?.past)save(i.ownerDocument,JSON.stringify(c.past.traceOf(c,r.now())))}};
const cF=(o)=>{const bg=((o.target).closest?.("[data-act]"));
if(!bg||bg.hasAttribute("disabled"))return;
const am=bg.dataset.act??"";
const dJ=(o).detail>1;
if(!dJ||!/^(cancel|kill|retry)/.test(am))bi[am]?.(bg.dataset);
r.redraw()};
const da=(o)=>{const aL=(o.target);
if(aL.dataset?.search&&a.log){a.log.search=aL.value;
r.redraw()}
const g=(aL.dataset?.filter);
if(!g)return;
a.filter={...a.filter,[g]:aL.value};
r.look();
r.redraw()};
const dj=watchZoom(i,a,()=>a.shown,(aM)=>{if(aM)r.look();
r.redraw()});
const y=(o)=>{if(!i.contains((o.target)))return;
dj.key(o);
pressed(o,i,bi,r)};
const bl=M.listen((E)=>{if(E.say==="taken"){clearTimeout(bR.get(E.id));
bR.delete(E.id);
av(E.words??"")}else if(E.say==="found"&&E.id===a.id){a.found=E.found}else if(E.say==="history"&&E.id===a.id){r.recall(E)}
r.redraw()});
const ba=[watchSight(i,a,r.redraw),dj.end];
i.addEventListener("click",cF);
i.addEventListener("input",da);
const w=i.ownerDocument.defaultView;
w?.addEventListener("keydown",y,true);
return()=>{bl();
for(const ah of ba)ah();
for(const eb of bR.values())clearTimeout(eb);
i.removeEventListener("click",cF);
i.removeEventListener("input",da);
w?.removeEventListener("keydown",y,true)}}
function pressed(o,i,bi,r){const bg=(o.target);
if(o.key==="Escape"&&i.querySelector('[data-act="keep"]'))bi.keep({});
else if(o.key==="Escape"&&i.querySelector(".log"))bi["close-log"]({});
else if(bg.getAttribute("role")==="tab"){const tabs=([...i.querySelectorAll('[role="tab"]')]);
const t=tabs.indexOf(bg);
const cX={ArrowRight:t+1,ArrowLeft:t-1,Home:0,End:tabs.length-1}[o.key];
if(cX!==undefined){const S=tabs[(cX+tabs.length)%tabs.length];
bi.tab(S.dataset);
S.focus();
o.preventDefault()}}
if(o.key!=="Tab")o.stopPropagation();
r.redraw()}
function save(w,q){const b0=w.createElement("a");
b0.href=URL.createObjectURL(new Blob([q],{type:"application/json"}));
b0.download="nbaccel-trace.json";
b0.click();
setTimeout(()=>URL.revokeObjectURL(b0.href),1000)}
function kernelClock(de=()=>Date.now()/1000){let ca=0;
return{heard(bP){ca=Math.max(ca,bP-de())},now:()=>de()+ca}}
const SVG="http://www.w3.org/2000/svg";
const DRAWN=Symbol("drawn");
const UNIT=/(\d) (?=(?:s|min|h|%|°C|W|B|[KMGT]iB|[CGT]PUs?)(?!\w))/g;
function h(d9,bs={},...aR){const ai=[];
for(const p of aR){if(!Array.isArray(p))p||p===""?ai.push(p):null;
else for(const D of p)if(D||D==="")ai.push(D)}
return{tag:d9,key:bs.key??"",props:bs,children:ai}}
function draw(Y,aR){if(!fits(Y,aR))return arrange(Y,aR);
let e=Y.firstChild;
for(const p of aR){if(e)update(e,p,Y);
e=e?.nextSibling??null}}
function fits(Y,aR){let e=Y.firstChild;
for(const p of aR){if(!e||!isOf(e,p)||(typeof p!=="string"&&p.key!==keyOf(e)))return false;
e=e.nextSibling}
return!e}
function arrange(Y,aR){const bo=([...Y.childNodes]);
const keyed=new Map(bo.filter((e)=>keyOf(e)).map((e)=>[keyOf(e),e]));
const dW=bo.filter((e)=>!keyOf(e));
const cS=new Set();
let place=Y.firstChild;
for(const p of aR){const e=matching(p,keyed,dW)??created(p,Y);
cS.add(e);
update(e,p,Y);
if(e===place)place=place.nextSibling;
else Y.insertBefore(e,place)}
for(const e of bo)if(!cS.has(e))e.remove()}
function keyOf(e){return(e)[DRAWN]?.key??""}
function isOf(e,p){return typeof p==="string"?e.nodeType===3:(e)[DRAWN]?.tag===p.tag}
function matching(p,keyed,ay){if(typeof p!=="string"&&p.key){const e=keyed.get(p.key);
keyed.delete(p.key);
return e&&isOf(e,p)?e:undefined}
const x=ay.findIndex((e)=>isOf(e,p));
return x<0?undefined:ay.splice(0,x+1)[x]}
function created(p,Y){const w=Y.ownerDocument;
if(typeof p==="string")return w.createTextNode("");
const dI=p.tag==="svg"||Y.namespaceURI===SVG;
const Q=dI?w.createElementNS(SVG,p.tag):w.createElement(p.tag);
(Q)[DRAWN]={tag:p.tag,key:p.key,props:{},children:[]};
return Q}
function update(e,p,Y){if(typeof p==="string"){if((e)[DRAWN]?.text===p)return;
(e)[DRAWN]={text:p};
e.nodeValue=unbroken(p,Y);
return}
const Q=(e);
const ag=(Q)[DRAWN];
if(ag.shape===p)return;
const z=ag.props;
for(const g in z)if(!(g in p.props))set(Q,g,null);
for(const g in p.props)if(z[g]!==p.props[g])set(Q,g,p.props[g]);
if("value"in p.props&&(Q).value!==p.props.value)set(Q,"value",p.props.value);
ag.props=p.props;
ag.shape=p;
if(p.children.length||Q.firstChild)draw(Q,p.children)}
function unbroken(q,Y){return q.endsWith("\n")||["pre","code"].includes((Y)[DRAWN]?.tag)?q:q.replace(UNIT,"$1\u00a0")}
function set(Q,g,I){if(g==="key")return;
if(g==="value")(Q).value=I??"";
else if(I==null||I===false)Q.removeAttribute(g);
else if(g==="style")Q.setAttribute("style",I);
else Q.setAttribute(g,I===true?"":String(I))}
function table(bY,P,rows,more={}){const dE=P.map((aY,x)=>head(typeof aY==="string"?{name:aY}:aY,x,more.sort));
return h("div",{class:bY==="Devices"?"scroll whole":"scroll",key:bY,role:"region","aria-label":bY,tabindex:"0","data-sight":more.sight??null},h("table",{"aria-rowcount":more.rows&&more.rows+1},h("caption",{class:"unseen"},bY),h("thead",{},h("tr",{},dE)),h("tbody",{},rows)))}
function head({name:g,sort:bv},x,bO){if(!bv)return h("th",{scope:"col",key:g||`c${x}`},g||h("span",{class:"unseen"},"Actions"));
const bS=bO?.column!==bv?"none":bO.down?"descending":"ascending";
const dm={none:"",ascending:" ↑",descending:" ↓"}[bS];
return h("th",{scope:"col",key:g,"aria-sort":bS},h("button",{type:"button",class:"sorts","data-act":"sort","data-column":bv},g,h("span",{"aria-hidden":"true"},dm)))}
function nameOf(g){return h("span",{class:"name cut",title:g},g)}
function button(L,bs){return h("button",{type:"button",...bs},L)}
const VERBS={cancel:"Cancel",kill:"Kill",retry:"Retry"};
function endButton(am,bU,L,a){const{id:A,name:g,owner:aC}=bU;
const aP={"data-id":A,"data-name":g};
if(a.asked.has(A))return button("asked…",{...aP,"aria-label":`${VERBS[am]} ${g} ${L}`,disabled:true});
if(!aC)return button(VERBS[am],{...aP,"data-act":am,"aria-label":`${VERBS[am]} ${g} ${L}`});
if(a.doubted!==A){return button(`${VERBS[am]}…`,{...aP,"data-act":"doubt","data-owner":aC,"aria-label":`${VERBS[am]} ${g} ${L} of ${aC}`})}
return h("span",{class:"ask nowrap"},button("Keep",{...aP,"data-act":"keep","aria-label":`Keep ${g} of ${aC}`})," ",button(`${VERBS[am]} it`,{...aP,"data-act":am,class:"urgent","aria-label":`${VERBS[am]} ${g} of ${aC} all the same`}))}
function empty(q,bk){return h("p",{class:"quiet empty",key:"empty"},q,bk&&" ",bk&&h("code",{},bk))}
function stateCell(sign,U,aw){const b4=aw!=null&&(U==="running"||U==="alive")?` ink c${aw}`:"";
return h("td",{class:`nowrap state ${U}`},h("span",{class:`sign${b4}`,"aria-hidden":"true"},sign),` ${U}`)}
function whereCell(H,a){const aC=H.startsWith("[")?"":H.replace(/ \[\d+\].*/,"");
const ab=aC.length>24?[h("span",{class:"cut",title:aC},aC),H.slice(aC.length)]:[H];
return cell(H&&a.goes(H)?h("button",{type:"button",class:"goes","data-act":"go","data-cell":H,title:"Show the cell"},ab):ab,"nowrap where")}
function cell(a9,v){return h("td",v?{class:v}:{},a9)}
const MOST_CHARACTERS=200_000;
const MOST_LINES=2_000;
function withLog(z,s){const af=[{text:s.out.text,err:false},{text:s.err.text,err:true}].filter((dV)=>dV.text);
const gap=z&&(s.out.left_out||s.err.left_out)?[{text:"… too much was printed to show all of it …\n",err:true}]:[];
let a4=[...(z?.pieces??[]),...gap,...af];
let size=a4.reduce((aj,{text:q})=>aj+q.length,0);
while(size>MOST_CHARACTERS&&a4.length>1){size-=a4[0].text.length;
a4=a4.slice(1)}
return{pieces:a4,out:s.out.to,err:s.err.to,over:s.over,pid:s.pid?String(s.pid):"",done:s.over&&Boolean(z?.over)&&!af.length,failure:s.failure,yours:s.yours??"",note:s.note,left:z?.left||Boolean(s.out.left_out||s.err.left_out)}}
function logLines(a4){const aa=[];
const aH={false:null,true:null};
for(const{text:q,err:aZ}of a4){const ae=q.split("\n");
ae.forEach((V,x)=>{const a0=aH[String(aZ)]??{text:"",err:aZ};
if(aH[String(aZ)]===null&&(V||x<ae.length-1))aa.push(a0);
a0.text+=V;
aH[String(aZ)]=x<ae.length-1?null:aa.includes(a0)?a0:null})}
return aa.map(({text:q,err:aZ})=>({text:plain(q.replace(/\r+$/,"").split("\r").at(-1)?.replaceAll("\t","    ")),err:aZ}))}
function logRow(a,P){const aF=a.log;
if(!aF)return null;
const m=(a.past.task_log?.data??null);
return h("tr",{key:`log/${aF.id}`,class:"logrow"},h("td",{colspan:P},h("section",{class:"log","aria-label":`Log of ${aF.name}`},logHead(aF,m),...failureOf(m),printed(aF,m))))}
function logHead(aF,m){return h("div",{class:"line",key:"head"},h("strong",{},`Log of ${aF.name}`),m?.pid&&h("span",{class:"quiet"},`all that its process has printed, pid ${m.pid}`),m&&!m.over&&h("span",{class:"chip"},"live"),h("label",{class:"aside quiet"},"Search ",h("input",{type:"search","data-search":"log",value:aF.search,"aria-label":`Search the log of ${aF.name}`})),button("Close",{"data-act":"close-log","aria-label":"Close the log"}))}
function failureOf(m){if(!m?.failure)return[];
const aD=h("pre",{tabindex:"0","aria-label":"The whole traceback"},m.failure);
if(!m.yours||m.yours===m.failure)return[h("div",{key:"failure",class:"failure"},aD)];
return[h("div",{key:"failure",class:"failure"},h("pre",{tabindex:"0","aria-label":"Your code in the traceback"},m.yours),h("details",{open:true},h("summary",{},"The whole traceback"),aD))]}
function printed(aF,m){if(!m)return h("p",{class:"quiet",key:"none"},"Asking the kernel …");
const u=logLines(m.pieces);
const b7=aF.search.trim().toLowerCase();
const ax=b7?u.filter(({text:q})=>q.toLowerCase().includes(b7)):u;
const dR=m.note||(b7&&u.length?"No line has this text.":m.over?"It has printed nothing.":"It has printed nothing yet.");
const cY=[b7&&u.length&&`${ax.length} of ${count(u.length,"line")}`,m.left&&"the beginning is only in %accel_logs",ax.length>MOST_LINES&&`the last ${MOST_LINES} lines`].filter(Boolean);
return h("div",{key:"printed"},cY.length>0&&h("p",{class:"quiet",role:"status"},cY.join(" · ")),ax.length?h("pre",{class:"printed",tabindex:"0","aria-label":"What it has printed"},ax.slice(-MOST_LINES).map(({text:q,err:aZ},x)=>h("span",{key:`l${x}`,class:aZ?"err":null},`${q}\n`))):h("p",{class:"quiet"},dR))}
function followLog(i,a){const B=a.log?.follow&&i.querySelector(".printed");
if(B)B.scrollTop=B.scrollHeight}
const FIND_EVERY_MS=1000;
const FOUND_AT_FIRST=200;
const MOST_FOUND=1000;
function findKey({filter:G,wide:ej}){return G.state||G.cell||G.text.trim()?JSON.stringify([G,ej]):""}
function foundNow(a){const y=findKey(a);
return y&&a.found?.key===y?a.found:null}
function finder(M,a){let T=0;
let C="";
let aE;
const bx=()=>{clearTimeout(aE);
aE=undefined;
const y=a.details&&a.tab==="tasks"?findKey(a):"";
if(!y)return;
T=Date.now();
C=y;
M.send({say:"find",id:a.id,key:y,filter:a.filter,limit:a.wide?MOST_FOUND:FOUND_AT_FIRST})};
const dB=()=>{if(findKey(a)!==C)bx();
else aE??=setTimeout(bx,Math.max(0,T+FIND_EVERY_MS-Date.now()))};
return{find:dB,end:()=>clearTimeout(aE)}}
function laneName(f){return`${(f.node_id??"").slice(0,12)}/${f.resource}/${f.id}`}
const KEPT_S=120;
const LETTERS="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const MOST_DEVICES=128;
function hasLines(c){const Z=c.devices??[];
return Z.length<=MOST_DEVICES&&Z.some((row)=>row.metrics)}
function withReadings(z,s){const R=z?.origin===s.origin&&z?.step===s.step_s?z:null;
const ah=s.first+s.steps;
const _=Math.max(ah-Math.round(KEPT_S/s.step_s),R?R.first:s.first);
const aa=new Map();
s.devices.forEach((dx,x)=>{const g=s.prefix+dx;
const m=R?.lines.get(g);
const a0=(V,cu=1)=>Array.from({length:ah-_},(em,t)=>{const cv=_+t-s.first;
const bo=cv<0?m?.[V][_+t-(R?.first??0)]:null;
if(cv<0)return bo==null?null:bo*cu;
const aS=LETTERS.indexOf(s[V][x*s.steps+cv]);
return aS<0?null:aS/(LETTERS.length-1)});
const u={utilisation:a0("utilisation"),memory:a0("memory"),power:a0("power",R?R.watts/s.power_watts:1)};
aa.set(g,u).set(g.slice(g.indexOf("/")),u)});
return{since:s.seq,origin:s.origin,step:s.step_s,first:_,watts:s.power_watts,lines:aa}}
function linesOf(d_,row){return d_?.lines.get(laneName(row))??null}
function rowsQuestion(a,c){const cK=(A)=>a.past[`rows/${A}`]?.due??0;
const[bK]=(c.runs?.open(a)??[]).sort((N,J)=>cK(N)-cK(J));
return bK?{ask:"rows",key:`rows/${bK}`,record:bK}:null}
function placeOf({ask:bx,key:y}){return bx==="rows"?y:bx}
function withRows(z,s){const rows=new Map(z?.rows);
for(const[y,row]of Object.entries(s.rows))rows.set(y,row);
return{since:s.seq,total:s.total,rows}}
const LAST_MINUTE=60;
const WHOLE_RUN=0;
let views=0;
function newState(du){views+=1;
return{id:`nbaccel-${views}-${Math.random().toString(36).slice(2,8)}`,details:du,listed:false,tab:"devices",filter:{state:"",cell:"",text:""},sort:{column:"",down:false},held:null,order:[],open:new Set(),device:"",scrolled:{top:0,height:460,row:46,reason:23},sights:new Map(),tiles:undefined,heldSight:"",only:"",wide:false,window:LAST_MINUTE,range:null,shown:{from:0,to:1},lanes:{width:1000,left:110,right:990},room:1000,hover:{bar:"",style:""},rows:new Map(),asked:new Set(),doubted:"",found:null,retries:false,goes:()=>false,said:"",log:null,notices:false,past:{}}}
const LEAST_PAUSE_MS=250;
const LATE_MS=10_000;
const MINUTES_TOLD=3;
function questionOf(a,c,k){const{engine:ce,pid:br}=c.runtime;
const a8=`${ce} ${br??""} ${c.nodes?.[0]?.node_id??""}`;
if(a.only)return rowsQuestion(a,c);
const r=a.details?a.tab:"devices";
if(r==="runs")return rowsQuestion(a,c);
if(r==="devices"&&hasLines(c))return{ask:"readings",key:a8};
if(r==="tasks"&&a.log){const[y,m]=[`${a8} ${a.log.id}`,a.past.task_log];
const q=m?.key===y?m.data:null;
return q?.done?null:{ask:"task_log",key:y,task_id:a.log.id,out_since:q?.out??0,err_since:q?.err??0}}
if(r==="accounting")return{ask:"accounting",key:a8};
if(r!=="timeline")return null;
if(a.range)return{ask:"runs",key:`${a8} ${a.range.from} ${a.range.to}`,start:a.range.from,end:a.range.to};
if(a.window===WHOLE_RUN)return{ask:"runs",key:`${a8} all`};
const m=a.past.runs;
const d$=m?.start&&m.key===`${a8} last`&&k-m.start<MINUTES_TOLD*LAST_MINUTE;
return{ask:"runs",key:`${a8} last`,start:d$?m.start:k-a.window}}
function historian(M,a,k){let T=0;
let aE;
let C=-LATE_MS;
const dM=()=>{if(Date.now()-C<LATE_MS)return;
C=Date.now();
M.send({say:"past"})};
let bF=true;
const aG=()=>{bF=true;
clearTimeout(aE);
const c=M.snapshot();
const aU=c&&!c.ended?questionOf(a,c,k()):null;
if(!aU)return;
if(!["readings","task_log","rows"].includes(aU.ask)&&!c?.past)return void dM();
const place=placeOf(aU);
const m=a.past[place];
const R=m?.key===aU.key&&m.start===aU.start;
const b9=Math.max(R?m.due:0,T+LEAST_PAUSE_MS)-Date.now();
if(b9>0)return void(aE=setTimeout(aG,b9));
T=Date.now();
const n=R||aU.ask==="runs"?(m?.data??null):null;
a.past[place]={key:aU.key,start:aU.start,due:T+LATE_MS,data:n};
M.send({say:"history",id:a.id,...aU,since:R?(n?.since??0):0})};
const bl=(E)=>{const bp=a.past[placeOf(E)];
if(bp?.key!==E.key)return;
const s=JSON.parse(E.answer);
const aB={readings:withReadings,task_log:withLog,rows:withRows}[(E.ask)]??M.snapshot()?.past?.told[E.ask];
if(aB)bp.data=aB(bp.data,s);
bp.due=Date.now()+1000*s.pause_s;
const dD=E.ask==="task_log"||(E.ask==="rows"&&!s.pause_s);
if(dD&&bF)aG()};
const ah=()=>{bF=false;
clearTimeout(aE)};
return{look:aG,heard:bl,end:ah}}
const GROUPS=8;
function heldWords({heldBy,devicesFree:cI,devicesTaken:bA,ended:al}){if(al)return[];
const a3=heldBy.slice(0,GROUPS).map(({name:g,number:l,colour:aw},t)=>[t>0&&", ",h("span",{key:g,class:"nowrap"},h("span",{class:`swatch c${aw}`,"aria-hidden":"true"}),` ${g}${l>1?` × ${l}`:""}`)]).flat();
const more=heldBy.length>GROUPS&&` and ${heldBy.length-GROUPS} more`;
const ay=[cI&&`${cI} free`,bA&&`${bA} taken by others`].filter(Boolean).map((H)=>` · ${H}`).join("");
return[a3.length?"Held by ":"Nobody holds one",...a3,more,ay]}
function taken({state:a}){return a==="taken"&&h("span",{class:"part taken"})}
function shareBar({heldBy,deviceTotal:ao,devicesTaken:bA}){const V=(v,be)=>h("span",{key:v,class:`part ${v}`,style:`width:${Math.round(1000*be/ao)/10}%`});
return h("span",{class:"bar","aria-hidden":"true"},heldBy.map(({colour:aw,share:be})=>V(`c${aw}`,be)),bA>0&&V("taken",bA))}
const PALETTE={hues:[["#1575c3","#207cca","#056ebb"],["#99612a","#a06731","#a76e38"],["#149599","#229da0","#2da4a7"],["#b74977","#be507e","#c65785"],["#978d17","#9e9423","#908606"],["#9082f1","#897be9","#8274e1"],["#6aa173","#639a6d","#5c9366"],["#c27bc6","#bb74bf","#b36db8"]],failure:"#ec1c24",attention:"#c77700",waiting:"#808080",grounds:["#ffffff","#212121"]};
const HUES=PALETTE.hues.length;
const SHADES=PALETTE.hues[0].length;
function numberOf(q){let bZ=2166136261;
for(let cf=0;cf<q.length;cf++)bZ=Math.imul(bZ^q.charCodeAt(cf),16777619);
return(bZ^(bZ>>>15))>>>0}
function colourOf(c,aV,A){const dH=c.hues?.[aV]??numberOf(aV)%HUES;
return dH*SHADES+(A?numberOf(A)%SHADES:0)}
function subjectOf(row){const aD=row.function||row.name;
return(row.kind??"task")==="task"?aD:aD.split(".",1)[0]}
function inkOn(aw){const[dY,dC,J]=[1,3,5].map((t)=>parseInt(aw.slice(t,t+2),16)/255).map((V)=>(V<=0.03928?V/12.92:((V+0.055)/1.055)**2.4));
return 0.2126*dY+0.7152*dC+0.0722*J>0.179?"#000":"#fff"}
function colourRules(d3){return PALETTE.hues.flat().map((aw,l)=>`${d3} .c${l}{background:${aw};fill:${aw};--c:${aw};--on:${inkOn(aw)}}`).join("\n")}
const STATES=["running","waiting","failed","cancelled","finished"];
function taskCounts(c){const K=Object.fromEntries(STATES.map((a)=>[a,0]));
for(const[a,l]of Object.entries(c.counts??{})){const U=stateWord(a);
K[U]=(K[U]??0)+l}
return K}
function waitingViews(c,k){return(c.tasks??[]).filter((row)=>stateWord(row.state)==="waiting").sort((N,J)=>(N.submitted_at??0)-(J.submitted_at??0)).map((row)=>taskView(row,c,k))}
function taskViews(c,G,k){const q=G.text.trim().toLowerCase();
const rows=(c.tasks??[]).filter((row)=>passes(row,c,G,q));
return rows.map((row)=>taskView(row,c,k))}
function passes(row,c,G,q){if(G.state&&stateWord(row.state)!==G.state)return false;
if(G.cell&&cellOf(row,c)!==G.cell)return false;
if(!q)return true;
return[row.name,taskName(row.name),row.task_id,row.cell,whyOf(row,c),deviceWords(row.device_ids)].some((D)=>(D??"").toLowerCase().includes(q))}
function cellOf(row,c){return row.cell?cellWords(c,{job:row.job,cell:row.cell.split(" ")[0]}):""}
function cellsOf(c){const l=(cell)=>Number(/\[(\d+)\]$/.exec(cell)?.[1]??0);
const b4=(cell)=>(cell.startsWith("[")?0:1);
const dn=new Set((c.tasks??[]).map((row)=>cellOf(row,c)).filter(Boolean));
return[...dn].sort((N,J)=>b4(N)-b4(J)||l(N)-l(J))}
function whyOf(row,c){return row.reason==null?(row.why??""):(c.reasons?.[row.reason]??"")}
function withoutSubject(aX,row){const g=plain(row.name).replace(/\.__init__$/,"");
const cell=plain(row.cell);
if(!aX.startsWith(g))return aX;
let au=aX.slice(g.length+1);
if(cell&&au.startsWith(`(cell ${cell}`))au=au.slice(au.indexOf(") ")+2);
if(au.startsWith("waits for "))return au.includes(". ")?au.slice(au.indexOf(". ")+2):au;
return au.startsWith("asks ")?au:aX}
function taskView(row,c,k){const a=stateWord(row.state);
const bf=a==="waiting"?row.submitted_at:(row.started_at??row.submitted_at);
const aI=ENDED.has(row.state);
return{id:row.task_id,short:shortId(row.task_id),name:taskName(row.name),sign:stateSign(a),state:a,devices:deviceWords(row.device_ids),pid:row.pid?String(row.pid):"",cell:cellWords(c,row),owner:ownerOf(c,row),age:bf==null?"":age((row.finished_at??k)-bf),started:row.started_at==null?"":clock(row.started_at,k),took:tookWords(row,a,k),subject:plain(subjectOf(row)),colour:colourOf(c,subjectOf(row),row.actor_id||row.task_id),keys:{submitted:row.submitted_at??0,started:row.started_at??Infinity,took:row.started_at==null?-1:(row.finished_at??k)-row.started_at},peak:row.peak_memory_bytes==null?"":size(row.peak_memory_bytes),why:[row.retry_of&&`retry of #${shortId(row.retry_of)}`,row.choice?`runs as ${plain(row.choice)}`:"",withoutSubject(plain(whyOf(row,c)),row)].filter(Boolean).join(": "),retryable:Boolean(row.retryable),asks:Object.keys(row.demand??{}).length?demandWords(row.demand):"",cancellable:!aI&&row.state!=="ENDED_WITH_IT"}}
function tookWords(row,a,k){if(a==="waiting")return row.submitted_at==null?"":`waits ${age(k-row.submitted_at)}`;
if(row.started_at==null)return"";
const aA=(row.finished_at??k)-row.started_at;
if(row.finished_at!=null)return duration(aA);
const[ak,X]=row.progress??[0,0];
if(!X)return age(aA);
const ar=ak>0&&ak<X?`${age((aA*(X-ak))/ak)} left`:"";
return[age(aA),`${Math.round((100*ak)/X)} %`,ar].filter(Boolean).join(" · ")}
function actorViews(c,k){return(c.actors??[]).map((row)=>actorView(row,c,k))}
function actorView(row,c,k){const a=row.state==="PENDING_CREATION"?"waiting":stateWord(row.state);
return{id:row.actor_id,name:plain(row.class_name)+(row.name?` “${plain(row.name)}”`:""),sign:stateSign(a),state:a,devices:deviceWords(row.device_ids),pid:row.pid?String(row.pid):"",cell:cellWords(c,row),owner:ownerOf(c,row),age:row.since==null?"":age(k-row.since),colour:colourOf(c,row.class_name,row.actor_id),calls:row.pending_calls?String(row.pending_calls):"",why:[row.restarts?`restarted ${row.restarts} ×`:"",plain(row.why)].filter(Boolean).join(" · "),alive:row.state!=="DEAD"}}
const MOST_OF_ONE=8;
const ORDER=["running","failed","waiting","cancelled","finished"];
const OVERSCAN=12;
const KEYS={task:(d)=>`${d.name}\n${d.short}`,state:(d)=>place(d.state),devices:(d)=>d.devices||"~",started:(d)=>d.keys.started,took:(d)=>d.keys.took};
function place(a){const t=ORDER.indexOf(a);
return t<0?ORDER.length:t}
function ordered(W,bv,$){const y=KEYS[bv.column];
const dd=(N,J)=>place(N.state)-place(J.state)||J.keys.submitted-N.keys.submitted;
const dr=(N,J)=>{if(!y)return dd(N,J);
const[c_,c0]=[y(N),y(J)];
const bS=c_<c0?-1:c_>c0?1:0;
return(bv.down?-bS:bS)||dd(N,J)};
const bO=[...W].sort(dr);
if(!$)return bO;
const z=new Map($.map((A,x)=>[A,x]));
return bO.sort((N,J)=>(z.get(N.id)??$.length)-(z.get(J.id)??$.length))}
function grouped(W,aH){const cb=new Map();
for(const d of W){const R=cb.get(d.subject);
if(R)R.push(d);
else cb.set(d.subject,[d])}
const rows=[];
for(const d of W){const R=cb.get(d.subject)??[];
if(R.length<=MOST_OF_ONE)rows.push({task:d,inGroup:false});
else if(R[0]===d)rows.push(...groupRows(R,aH.has(d.subject)))}
return rows}
function groupRows(W,aH){const K=new Map();
for(const d of W)K.set(d.state,(K.get(d.state)??0)+1);
const ak=K.get("finished")??0;
const ay=STATES.filter((a)=>a!=="finished"&&K.get(a)).map((a)=>`${K.get(a)} ${a}`);
const ap={subject:W[0].subject,tasks:W,open:aH,done:ak,failed:K.get("failed")??0,others:ay};
return[{group:ap},...(aH?W.map((d)=>({task:d,inGroup:true})):[])]}
function alike(waiting){const bC=new Map();
for(const d of waiting){const y=`${d.name}\n${d.why}\n${d.asks}`;
const ap=bC.get(y)??{task:d,number:0,ids:[]};
ap.number+=1;
ap.ids.push(d.id);
bC.set(y,ap)}
return[...bC.values()].sort((N,J)=>J.number-N.number)}
function tasksInSight(rows,{top:aW,height:aq,row,reason:aN}){let u=0;
const ba=rows.map((D)=>(u+="task"in D&&D.task.why?row+aN:row));
const t=(di)=>(u>di?ba.findIndex((ah)=>ah>di):rows.length);
const bf=t(Math.min(aW,u-aq));
const _=Math.max(0,bf-OVERSCAN);
const T=Math.min(rows.length,t(aW+aq)+2*OVERSCAN-(bf-_));
return{first:_,last:T,above:ba[_-1]??0,below:u-(ba[T-1]??0)}}
function inSight(l,aJ){const bM=Math.ceil(aJ.height/aJ.row)+2*OVERSCAN;
const _=Math.max(0,Math.min(Math.floor(aJ.top/aJ.row)-OVERSCAN,l-bM));
return{first:_,last:Math.min(l,_+bM)}}
const MOST_CHIPS=8;
const NAMED_IN_FULL=4;
function drawCard(b,a){return[h("div",{key:"strip",class:"one-line strip",role:"group","aria-label":"Devices"},strip(b)),h("div",{key:"most",class:"one-line most"},mostUrgent(b,a))]}
function strip(b){const{deviceTotal:ao,devices:Z,ended:al}=b;
if(!ao)return h("span",{class:"has quiet",title:[...b.found,"nbaccel.init(num_gpus=2)"].join(" ")},["No accelerator.",...b.found,"This counts two logical ones: "].join(" "),h("code",{},"nbaccel.init(num_gpus=2)"));
if(al)return h("span",{class:"has quiet"},`It had ${ao} × ${b.sameModel||ao===1?Z[0].model:"devices"}.`);
if(ao>MOST_CHIPS)return[shareBar(b),h("span",{class:"has",title:b.heldBy.map(({name:g,number:l})=>`${g} × ${l}`).join(", ")},heldWords(b))];
return Z.map((f)=>deviceChip(f,ao))}
function deviceChip(f,X){const{label:L,holders,state:a,reason:aN}=f;
const af=holders.map(({name:g,part:V,cell,owner:aC,age})=>[g,...[V,[cell&&`cell ${cell}`,aC].filter(Boolean).join(" of "),age].filter(Boolean)].join(" · "));
const $=holders.map((j,t)=>[t>0&&", ",h("span",{key:j.key,class:"name"},j.name),h("span",{class:"quiet"},af[t].slice(j.name.length))]).flat();
return h("span",{key:f.key,class:X>NAMED_IN_FULL?"device many":"device","data-device":L,title:[L,...(holders.length?af:[aN||a])].join(", ")},h("span",{class:"label"},X>NAMED_IN_FULL?L.replace(/^\S+ /,""):L),h("span",{class:"bar","aria-hidden":"true"},holders.map((j)=>h("span",{class:`part c${j.colour}`,style:`width:${100*j.fraction}%`})),!holders.length&&taken(f)),h("span",{class:"has"},holders.length?$:h("span",{class:"quiet"},aN?`${a}: ${aN}`:a)))}
function mostUrgent(b,a){const{alerts:aK,nodes:dQ,ended:al}=b;
const O=aK.find(({kind:v})=>v==="failed")??aK[0];
if(O){const more=aK.length>1&&button(`and ${aK.length-1} more`,{"data-act":"tab","data-tab":"alerts"});
return[h("span",{class:"has alert",title:O.message},h("strong",{},"⚠ Attention:"),` ${O.message}`),more]}
const[ap]=al?[]:alike(b.waiting);
if(ap)return waits(ap,b.counts.waiting-ap.number);
const c8=b.runs?.brief(a)??[];
if(c8.length)return c8.slice(0,2);
const a2=dQ.find(({moves:dO})=>dO);
if(a2)return h("span",{class:"has",title:a2.why},h("span",{class:"sign","aria-hidden":"true"},`${a2.sign} `),nameOf(a2.name),` ${a2.state} `,h("span",{class:"quiet"},a2.why));
if(al)return h("span",{class:"quiet"},b.endedAt);
if(b.taskTotal)return h("span",{class:"quiet"},"Nothing waits, and nothing needs attention.");
return h("span",{class:"has quiet",title:"f.remote()"},"No task yet. A call makes one: ",h("code",{},"f.remote()"))}
function waits({task:d,number:l},ay){const aX=d.why||d.asks;
return[h("span",{class:"has",title:aX},h("span",{class:"sign","aria-hidden":"true"},"◌ "),l>1&&`× ${l} `,nameOf(d.name),` waits ${d.age}: `,h("span",{class:"quiet"},aX)),ay>0&&button(`and ${ay} more`,{"data-act":"tab","data-tab":"waiting"})]}
const HEIGHT=16;
function shape(at,dA=false){const b6=at.map((aS,t)=>(aS==null?null:`${t} ${Math.round(10*(HEIGHT-1-aS*(HEIGHT-2)))/10}`));
let cq="";
let aQ=-1;
b6.forEach((b5,t)=>{if(b5!=null)cq+=(b6[t-1]==null?"M":"L")+b5;
if(b5!=null&&b6[t-1]==null)aQ=t;
if(b5!=null&&b6[t+1]==null&&dA)cq+=`L${t} ${HEIGHT}L${aQ} ${HEIGHT}Z`});
return cq}
function spark(aa,bs={}){const d8=Math.max(2,...aa.map(({levels:at})=>at.length));
return h("svg",{class:"spark",viewBox:`0 0 ${d8-1} ${HEIGHT}`,preserveAspectRatio:"none","aria-hidden":"true",...bs},aa.map(({levels:at,kind:v})=>[v==="area"&&h("path",{key:"under",class:"under",d:shape(at,true)}),h("path",{key:v,class:v,d:shape(at)})]).flat())}
function between(at){const m=(at??[]).filter((aS)=>aS!=null);
const aT=(aS)=>`${Math.round(100*aS)} %`;
return m.length>1?`between ${aT(Math.min(...m))} and ${aT(Math.max(...m))} in the last two minutes`:""}
const GAP_PX=4;
function drawTiles(b,a){const{devices:Z,devicesBefore:cd,deviceTotal:ao}=b;
const inSight=Z.length<ao?a.tiles??{row:40,columns:20}:null;
const aa=(l)=>Math.ceil(l/(inSight?.columns??1))*(inSight?.row??0);
const cT=Z.some((f)=>f.lines);
const list=h("ul",{class:cT?"tiles lined":"tiles","aria-label":"Devices"},emptyLines("above",aa(cd)),Z.map((f,x)=>knownTile(f,inSight?cd+x+1:0,ao,a)),emptyLines("below",aa(ao)-aa(cd+Z.length)));
return h("div",{key:"tiles"},inSight?h("div",{class:"scroll of-tiles",role:"region",tabindex:"0","aria-label":`${ao} devices`},list):list,h("p",{class:"quiet small",key:"holders"},heldWords(b),cT&&" · Lines: load (filled), memory and power (dotted) of the last two minutes."),cardOf(Z.find((f)=>f.key===a.hover.bar),a))}
function emptyLines(bT,aq){return aq>GAP_PX&&h("li",{key:bT,class:"gap","aria-hidden":"true",style:`height:${aq-GAP_PX}px`})}
function cardOf(f,a){if(!f)return null;
const{node:e,label:L,model:F,holders,utilisation,memory,facts,reason:aN}=f;
const $=holders.map((j)=>h("div",{key:j.key},h("span",{class:`swatch c${j.colour}`}),h("strong",{},j.name)," ",[j.part,j.cell&&`cell ${j.cell}`,j.owner,j.age].filter(Boolean).join(" · ")));
return h("div",{class:"hover",key:"hover",style:a.hover.style,"aria-hidden":"true"},h("strong",{},[e,L].filter(Boolean).join(" ")),` ${f.state}`,$,h("div",{class:"quiet small"},[utilisation?.text,memory?.text,facts,between(f.lines?.utilisation),aN].filter(Boolean).join(" · ")||F))}
function knownTile(f,place,X,a){const an=f.key===a.device;
const H=tileWords(f);
const a9=[H,an,place,f.holders.map((j)=>`${j.colour}/${j.fraction}`)].join("\n");
const m=a.rows.get(`tile ${f.key}`);
if(m?.content===a9&&m.of===f.lines)return m.shape;
const shape=tile(f,H,an,place?{"aria-posinset":place,"aria-setsize":X}:{});
a.rows.set(`tile ${f.key}`,{content:a9,shape,of:f.lines});
return shape}
function tile(f,H,an,cr){const l=f.label.replace(/^\S+ /,"");
const ae=f.holders.map((j)=>h("span",{class:`part c${j.colour}`,style:`width:${100*j.fraction}%`}));
return h("li",{key:f.key,...cr},h("button",{type:"button",class:f.state==="gone"?"tile gone":"tile","data-act":"tile","data-device":f.key,"data-bar":f.key,"aria-expanded":String(an),"aria-label":H},h("span",{class:"number"},l),h("span",{class:"load quiet"},f.state==="gone"?"gone":f.utilisation?.text),h("span",{class:"bar"},ae,!ae.length&&taken(f)),f.lines&&spark(linesIn(f.lines))))}
function linesIn({utilisation,memory,power}){return[{levels:utilisation,kind:"area"},{levels:memory,kind:"line"},{levels:power,kind:"dots"}]}
function tileWords(f){const holders=f.holders.map((j)=>[j.name,j.part,j.cell&&`cell ${j.cell}`,j.owner].filter(Boolean).join(" "));
const facts=[f.utilisation?.text,f.memory?.text,f.facts,between(f.lines?.utilisation),f.reason].filter(Boolean);
return`${[f.node,f.label].filter(Boolean).join(" ")}, ${f.state}${holders.length?`: ${holders.join("; ")}`:""}${facts.map((dy)=>`, ${dy}`).join("")}`}
const MOST_ROWS=8;
function drawDevices(b,a){if(!b.deviceTotal){return[empty(["No accelerator.",...b.found,"This counts two logical ones:"].join(" "),"nbaccel.init(num_gpus=2)")]}
if(b.deviceTotal<=MOST_ROWS)return[models(b),rows(b.devices,b,a)];
return[models(b),drawTiles(b,a),b.chosenDevice&&rows([b.chosenDevice],b,a)]}
function models({sameModel:d2,deviceTotal:ao,devices:Z}){if(!d2)return null;
return h("p",{class:"quiet small models",key:"models"},`${ao} × ${Z[0].model}`)}
function rows(Z,b,a){const b1=Z.some((f)=>f.utilisation||f.memory);
const bt=Z.some((f)=>f.node);
const af=b.sameModel;
const $=!b.ended&&Z.some((f)=>f.holders.length||f.reason);
const P=["Device",...(bt?["Node"]:[]),b.ended?"State":"In use",...(b1?["Load, memory, power"]:[]),...($?["Held by"]:[])];
return table("Devices",P,Z.map((f)=>row(f,{several:bt,measured:b1,said:af,held:$},b,a)))}
function row(f,{several:bt,measured:b1,said:af,held:$},b,a){return h("tr",{key:f.key,"data-device":f.label},h("th",{scope:"row",title:f.title||null},h("span",{class:"label"},f.label),!af&&h("span",{class:"quiet small model"},f.model)),bt&&h("td",{class:"quiet"},f.node),h("td",{class:"use"},!b.ended&&useBar(f),h("span",{class:"nowrap"},h("span",{class:"sign","aria-hidden":"true"},f.sign),` ${f.state}`)),b1&&h("td",{class:"load",title:f.facts},meter("utilisation",f,f.utilisation),meter("memory",f,f.memory),f.power&&meter("power",f,f.power)),$&&h("td",{class:"holders"},holders(f,b,a)))}
function useBar(f){const ae=f.holders.map((j)=>h("span",{key:j.key,class:`part c${j.colour}`,style:`width:${100*j.fraction}%`}));
return h("div",{class:"bar",role:"img","aria-label":`${f.label}: ${f.use}`,title:f.use},ae,!ae.length&&taken(f))}
function meter(bh,f,I){if(!I)return h("div",{class:"measure quiet small"},`${bh} unknown`);
const aT=Math.min(100,Math.max(0,Math.round(I.percent)));
const g=`${f.label} ${bh}`;
const at=f.lines?.[bh];
const af={title:[bh,between(at)].filter(Boolean).join(": ")};
const ag=at?spark([{levels:at,kind:bh==="utilisation"?"area":"line"}]):h("span",{class:"part",style:`width:${aT}%`});
const cu=bh==="power"?{role:"img","aria-label":`${g} ${I.text}`}:{role:"meter","aria-label":g,"aria-valuemin":"0","aria-valuemax":"100","aria-valuenow":aT,"aria-valuetext":I.text};
return h("div",{class:"measure",...af},bh==="power"&&!at?null:h("div",{class:at?"trend":"bar",...cu},ag),h("span",{class:"small"},I.text))}
function holders(f,b,a){const list=f.holders.map((j)=>holderLine(j,f,b,a));
return[list.length>0&&h("ul",{},list),f.reason&&h("span",{class:"quiet"},f.reason)]}
function holderLine(j,f,b,a){const bT=[j.cell&&`cell ${j.cell}`,j.owner].filter(Boolean).join(" of ");
const facts=[j.part,bT,j.age].filter(Boolean).join(" · ");
return h("li",{key:j.key,title:j.pid},h("span",{class:`swatch c${j.colour}`,"aria-hidden":"true"}),h("span",{class:"who"},nameOf(j.name),h("span",{class:"quiet facts"},facts)),(j.taskId||j.actorId)&&stop(j,f,a))}
function stop(j,f,a){const am=j.taskId?"cancel":"kill";
return endButton(am,{id:j.taskId||j.actorId,name:j.name,owner:j.owner},`on ${f.label}`,a)}
const WAITING_SHOWN=3;
const ALERTS_SHOWN=2;
function drawListed(b,a){const aK=[...b.alerts].sort((N,J)=>Number(J.kind==="failed")-Number(N.kind==="failed")).slice(0,ALERTS_SHOWN);
const aB=new Set(aK.map((O)=>O.never));
const a2=b.nodes.filter((e)=>e.moves).map((e)=>h("li",{key:e.key},sign(e.sign),nameOf(e.name),` ${e.state} `,h("span",{class:"quiet"},e.why)));
const af=aK.map((O)=>h("li",{key:O.key},h("strong",{},"⚠ Attention:"),` ${O.message}`));
return[...drawDevices(b,a),...(b.runs?.brief(a)??[]),list("lines","Nodes that come and go",a2),list("lines","Waiting tasks",b.ended?[]:waiting(b,aB)),list("alerts","Alerts",[...af,...more(b.alerts.length-af.length,"alerts")])]}
function waiting(b,aB){const u=alike(b.waiting);
const dc=u.filter(({ids:bm})=>!bm.some((A)=>aB.has(A)));
const ab=dc.slice(0,WAITING_SHOWN);
const aa=ab.map(({task:d,number:l})=>h("li",{key:d.id},sign("◌"),l>1&&`× ${l} `,nameOf(d.name),` waits ${d.age}: `,h("span",{class:"quiet"},d.why||d.asks)));
const m=u.filter((ap)=>!dc.includes(ap)||ab.includes(ap));
return[...aa,...more(b.counts.waiting-m.reduce((aj,{number:l})=>aj+l,0),"waiting")]}
function sign(dN){return h("span",{class:"sign","aria-hidden":"true"},`${dN} `)}
function more(l,S){return l>0?[h("li",{key:"more"},button(`and ${l} more`,{"data-act":"tab","data-tab":S}))]:[]}
function list(v,L,aa){return aa.length>0&&h("ul",{class:v,key:L,"aria-label":L},aa)}
function cancelMany(L,A,G,cn,a){const bU=cn?` ${cn}`:"";
const aP={key:A,"data-id":A,"data-name":L+bU,"data-function":cn,"data-state":G.state,"data-cell":G.cell,"data-text":G.text};
if(a.doubted!==A)return button(`${L}…`,{...aP,"data-act":"sure","aria-label":`${L}${bU}…`});
return h("span",{class:"ask nowrap",key:A},button("Keep",{...aP,key:"keep","data-act":"keep"})," ",button(L,{...aP,key:"do","data-act":"cancel-many",class:"urgent","aria-label":L+bU}))}
function drawWaiting(b,a){if(!b.counts.waiting)return[empty("Nothing waits. A task that finds no free device waits here, with the reason:","train.options(num_gpus=1).remote()")];
const bC=alike(b.waiting);
const rows=bC.map(({task:d,number:l})=>h("tr",{key:d.id,"data-task":d.id},nameCell(d,l),cell(d.asks,"nowrap"),whereCell(d.cell,a),cell(d.age,"short"),cell(d.why||h("span",{class:"quiet"},"asked for, not looked at yet"),"why"),cell(l>1?showAll(d,l):cancel(d,b,a),"acts")));
const more=b.counts.waiting-b.waiting.length;
return[rows.length>0&&table("Waiting tasks",["Task","Asks for","Cell","For","Why it waits",""],rows),more>0&&moreLine(`and ${more} more that wait`,a),b.counts.waiting>1&&!b.ended&&h("p",{key:"all"},cancelMany("Cancel all that wait","waiting",{state:"waiting",cell:"",text:""},"",a))]}
function showAll(d,l){return button(`Show all ${l}`,{"data-act":"count","data-state":"waiting","data-text":d.name,"aria-label":`Show all ${l} ${d.name} that wait`})}
function nameCell(d,l){return h("th",{scope:"row"},nameOf(d.name),h("span",{class:"quiet small below"},l>1?`× ${l}`:`#${d.short}`))}
function cancel(d,b,a){if(!d.cancellable||b.ended)return null;
return endButton("cancel",d,`#${d.short}`,a)}
function moreLine(q,a){return h("p",{class:"more",key:"unsent"},h("span",{class:"quiet"},`${q} `),!a.wide&&button("Show more",{"data-act":"ask-more"}))}
function drawActors(b,a){if(!b.actors.length)return[empty("No actor. A remote class that is called makes one:","Counter.remote()")];
const rows=b.actors.map((ac)=>h("tr",{key:ac.id,"data-actor":ac.id},h("th",{scope:"row"},nameOf(ac.name),h("span",{class:"quiet small below"},[`#${ac.id.slice(0,8)}`,ac.pid&&`pid ${ac.pid}`].filter(Boolean).join(" · "))),stateCell(ac.sign,ac.state,ac.colour),cell(ac.devices,"nowrap"),whereCell(ac.cell,a),cell(ac.age,"short"),h("td",{"data-head":"calls waiting"},ac.calls),cell(ac.why,"why"),cell(ac.alive&&!b.ended&&endButton("kill",ac,`#${ac.id.slice(0,8)}`,a),"acts")));
return[table("Actors",["Actor","State","Devices","Cell","Age","Calls waiting","Why",""],rows),b.actorsMore>0&&h("p",{class:"quiet more",key:"more"},`and ${b.actorsMore} more actors`)]}
function drawAlerts(b){if(!b.alerts.length)return[empty("No alert. Failures, leaks, lost devices and requests that can never be met are told here, such as:","f.options(num_gpus=1000).remote()")];
return[h("ul",{class:"alerts",key:"alerts"},b.alerts.map((O)=>h("li",{key:O.key},h("strong",{},h("span",{"aria-hidden":"true"},"⚠ "),O.title),` ${O.message}`,h("span",{class:"quiet"},` · ${O.age} ago`))))]}
function drawNodes(b){const rows=b.nodes.map((e)=>h("tr",{key:e.key},h("th",{scope:"row"},h("span",{class:"name"},e.name)),stateCell(e.sign,e.state),cell(e.role),cell(e.resources),cell(e.why,"why")));
return[table("Nodes",["Node","State","Role","Resources","Why"],rows)]}
function drawTasks(b,a){a.order=b.tasks.map((d)=>d.id);
const rows=a.sort.column?b.tasks.map((d)=>({task:d,inGroup:false})):grouped(b.tasks,a.open);
const dG=b.tasksFound-b.tasks.length;
const ef=b.foundInAll?dG:b.taskTotal-b.taskRows;
return[filters(b,a),rows.length?tableOf(rows,b,a):nothingFound(b),ef>0&&moreLine(`${b.tasks.length} of ${b.foundInAll?b.tasksFound:b.taskTotal} tasks are here`,a)]}
function tableOf(rows,b,a){const bq=b.tasks.some((d)=>d.peak);
const P=[{name:"Task",sort:"task"},{name:"State",sort:"state"},{name:"Devices",sort:"devices"},"Cell",{name:"Started",sort:"started"},{name:"Took",sort:"took"},...(bq?["Peak"]:[]),""];
const{first:_,last:T,above:dk,below:by}=tasksInSight(rows,a.scrolled);
const ag=rows.slice(_,T).flatMap((row)=>{if("group"in row)return[groupRow(row.group,P.length,b,a)];
const c3=knownRow(row.task,row.inGroup,bq,P.length,b,a);
return a.log?.id===row.task.id?[...c3,logRow(a,P.length)]:c3});
return table("Tasks",P,[gap("above",dk),...ag,gap("below",by)].filter(Boolean),{rows:rows.length,sort:a.sort})}
function gap(bT,aq){return aq>0&&h("tr",{key:bT,class:"gap","aria-hidden":"true",style:`height:${Math.round(aq)}px`})}
function nothingFound(b){if(!b.taskTotal)return empty("No task yet. A remote function that is called makes one:","f.remote()");
return empty(b.foundInAll?"No task passes the filter.":"No task of these rows passes the filter.")}
function groupRow(ap,P,b,a){const{subject:aV,tasks:W,open:aH,done:ak,failed:dz,others:ay}=ap;
const cp=b.taskTotal>b.taskRows&&!b.foundInAll;
const V=(v,l)=>l>0&&h("span",{key:v,class:`part ${v}`,style:`width:${(100*l)/W.length}%`});
const H=[...(cp?[]:[`${ak} of ${W.length}`]),...ay,...(cp?["others are not here"]:[])];
return h("tr",{key:`group/${aV}`,class:"group","data-function":aV},h("th",{scope:"row",colspan:P},h("button",{type:"button",class:"opens","data-act":"group","data-function":aV,"aria-expanded":String(aH)},h("span",{"aria-hidden":"true"},aH?"▾ ":"▸ "),nameOf(aV)),!cp&&h("span",{class:"bar","aria-hidden":"true"},V(`c${W[0].colour}`,ak),V("failed",dz)),h("span",{class:"quiet"},H.map((D,t)=>[t>0&&" · ",D.endsWith(" failed")?h("span",{key:D,class:"state failed"},D):D]).flat()),!b.ended&&W.some((d)=>d.cancellable)&&cancelMany("Cancel all",`group/${aV}`,a.filter,aV,a)))}
function knownRow(d,b_,bq,P,b,a){const a9=[...Object.values(d),b_,P,b.ended,a.asked.has(d.id),a.doubted===d.id,a.log?.id===d.id].join("\n");
const m=a.rows.get(d.id);
if(m?.content===a9)return m.shape;
const row=taskRow(d,b_,bq,b,a);
const shape=d.why?[row,reasonRow(d,P)]:[row];
a.rows.set(d.id,{content:a9,shape});
return shape}
function reasonRow(d,P){return h("tr",{key:`why/${d.id}`,class:"reason"},h("td",{colspan:P},h("span",{class:"quiet",title:d.why},d.why)))}
function taskRow(d,b_,bq,b,a){const by=[`#${d.short}`,d.pid&&`pid ${d.pid}`].filter(Boolean).join(" · ");
return h("tr",{key:d.id,"data-task":d.id,class:b_?"inner":null},h("th",{scope:"row"},nameOf(d.name),h("span",{class:"quiet small below"},by)),stateCell(d.sign,d.state,d.colour),cell(d.devices||d.asks,d.devices?"nowrap":"quiet nowrap"),whereCell(d.cell,a),cell(d.started,"nowrap"),tookCell(d.took),bq&&cell(d.peak,"nowrap"),cell([cancel(d,b,a),d.retryable&&a.retries&&!b.ended&&endButton("retry",d,`#${d.short}`,a),logs(d,b,a)],"acts"))}
function tookCell(ec){const[bP,...cM]=ec.split(" · ");
return cell([bP,cM.length>0&&[" ",h("span",{class:"quiet small below"},cM.join(" · "))]].flat(),"short")}
function logs(d,b,a){if(d.state==="waiting"||b.ended)return null;
return button("Log",{"data-act":"logs","data-id":d.id,"data-name":d.name,"aria-expanded":String(a.log?.id===d.id),"aria-label":`Log of ${d.name} #${d.short}`})}
function filters(b,a){const{filter:G}=a;
const b3=(I,L,an)=>h("option",{key:I||"all",value:I,selected:I===an},L);
return h("div",{class:"filters",role:"group","aria-label":"Filter tasks",key:"filters"},h("label",{},"State ",h("select",{"data-filter":"state",value:G.state},b3("","all",G.state),STATES.map((U)=>b3(U,`${U} (${b.counts[U]??0})`,G.state)))),h("label",{},"Cell ",h("select",{"data-filter":"cell",value:G.cell},b3("","all",G.cell),b.cells.map((g)=>b3(g,g,G.cell)))),h("label",{},"Text ",h("input",{type:"search","data-filter":"text",value:G.text,placeholder:"name, id, reason"})),(G.state||G.cell||G.text)&&!b.ended&&b.tasks.some((d)=>d.cancellable)&&cancelMany("Cancel all of these","these",G,"",a),!b.ended&&button("Notify me",{"data-act":"notices",class:"aside","aria-pressed":String(a.notices),title:"A notice of the browser when a task of more than a minute ends or fails"}),a.sort.column&&button("In the usual order",{"data-act":"sort","data-column":""}))}
const VIEWS={devices:drawDevices,waiting:drawWaiting,tasks:drawTasks,actors:drawActors,timeline:(b,a)=>b.pastViews?.drawTimeline(b,a)??loading(b),accounting:(b)=>(b.accounts?b.pastViews?.drawAccounts(b):null)??loading(b),alerts:drawAlerts,nodes:drawNodes,runs:(b,a)=>b.runs?.draw(a)??[]};
function drawFrame(b,a){const bz=a.details?[tabs(b,a),panel(b,a)]:a.listed?drawListed(b,a):drawCard(b,a);
return[header(b,a),...bz,h("p",{class:"said",key:"said",role:"status","aria-live":"polite"},a.said)]}
function drawOnly(b,a){const ab=b.runs?.only(a).flat()??[];
return[...(ab.length?ab:drawEmpty("Waiting for news of it …")),h("p",{class:"said",key:"said",role:"status","aria-live":"polite"},a.said)]}
function drawEmpty(H){return[h("p",{class:"quiet",key:"none"},H)]}
function loading(b){return[empty(b.ended?"This view was not opened before the end.":"Asking the kernel …")]}
function header(b,a){return h("header",{key:"header"},h("div",{class:"line top"},firstLine(b),b.ended&&h("span",{class:"chip"},b.ended),b.alerts.length>0&&h("button",{type:"button",class:"chip urgent","data-act":"tab","data-tab":"alerts"},h("span",{"aria-hidden":"true"},"⚠ "),count(b.alerts.length,"alert")),h("button",{type:"button","data-act":"details","aria-expanded":String(a.details),class:"aside"},"Details",h("span",{"aria-hidden":"true"},a.details?" ▴":" ▾"))),h("div",{class:"one-line quiet",title:b.title.join(" · ")},h("span",{class:"has"},secondLine(b,a).join(" · "))))}
function secondLine(b,a){if(!b.resources.length)return b.title;
return a.details||a.listed?b.resources:[...b.resources,...b.unrealDevices]}
function firstLine(b){const K=Object.entries(b.counts).filter(([,l])=>l);
const ae=[...b.busy.map((H)=>h("strong",{key:H},H)),...K.map(([U,l])=>button(`${l} ${U}`,{key:U,class:`count ${U}`,"data-act":"count","data-state":U,title:`Show the ${U} tasks`}))];
const af=ae.flatMap((V,x)=>(x?[h("span",{key:`dot${x}`,class:"quiet dot"}," · "),V]:[V]));
return h("span",{class:"first",title:b.title.join(" · ")},af,!K.length&&[af.length>0&&h("span",{class:"quiet dot"}," · "),h("span",{class:"quiet"},"no task yet")])}
function tabs(b,a){return h("div",{class:"tabs",role:"tablist","aria-label":"Views",key:"tabs"},b.tabs.map((S)=>{const an=S.id===a.tab;
return h("button",{type:"button",key:S.id,role:"tab",id:`${a.id}-${S.id}`,"aria-selected":String(an),"aria-controls":`${a.id}-panel`,tabindex:an?"0":"-1","data-act":"tab","data-tab":S.id},S.urgent&&h("span",{"aria-hidden":"true"},"⚠ "),S.label,S.badge>0&&h("span",{class:S.failed?"badge failed":"badge",title:S.failed?"failed":null},String(S.badge)))}))}
function panel(b,a){const r=VIEWS[a.tab]??drawDevices;
return h("div",{role:"tabpanel",id:`${a.id}-panel`,"aria-labelledby":`${a.id}-${a.tab}`,tabindex:"-1",key:`panel-${a.tab}`,class:"panel"},...r(b,a).flat())}
const LONG_ID=20;
function deviceLabels(rows){const v=(row)=>`${row.node_id??""}/${row.resource}`;
const taken=new Set(rows.filter((row)=>!row.parent).map((row)=>`${v(row)}/${row.id}`));
const cE=new Map();
const bE=new Map();
for(const row of rows){if(!row.parent){bE.set(row,`${plain(row.resource)} ${short(row.id)}`);
continue}
const y=`${v(row)}/${row.parent}`;
const cc=cE.get(y)??{number:firstFree(v(row),taken),instances:0};
cE.set(y,cc);
const dX=row.profile?` (${plain(row.profile)})`:"";
bE.set(row,`${plain(row.resource)} ${cc.number} · MIG ${cc.instances++}${dX}`)}
return bE}
function firstFree(v,taken){let l=0;
while(taken.has(`${v}/${l}`))l+=1;
taken.add(`${v}/${l}`);
return l}
function short(A){return plain(A).length>LONG_ID?`${plain(A).slice(0,12)}…`:plain(A)}
function unrealDevices(rows){return["logical","simulated"].flatMap((v)=>{const l=rows.filter((row)=>row.kind===v).length;
return l?[count(l,`${v} device`)]:[]})}
function modelWords(row){const[g,v]=[plain(row.name||row.type||row.family),row.kind??"real"];
return[g.startsWith(`${v} `)?g.slice(v.length+1):g,!row.parent&&plain(row.profile),v!=="real"&&`(${v})`].filter(Boolean).join(" ")}
function goneNodes(c){return new Set((c.nodes??[]).filter((e)=>e.alive===false).map((e)=>e.node_id))}
function whereItIs(row,bb){return bb.has(row.node_id??"")?{...row,holders:[],gone:true,free_reason:"its node has gone"}:row}
const MOST_TILES=128;
const LINES_BEYOND=1;
function devicesOf(c,k,C){const bb=goneNodes(c);
const u=(c.devices??[]).map((row)=>whereItIs(row,bb));
const rows=u.filter((row)=>row.offered!==false);
const bt=new Set(rows.map((row)=>row.node_id)).size>1;
const a3=new Map((c.nodes??[]).map((e)=>[e.node_id,plain(e.name)]));
const r=(row)=>({...deviceView(row,bE.get(row)??"",bt?(a3.get(row.node_id??"")??row.node_id?.slice(0,8)??""):"",c,k),lines:row.metrics?linesOf(C?.past?.readings?.data,row):null});
const{first:_,last:T}=tilesInSight(rows.length,C?.tiles);
const ag=rows.slice(_,T);
const an=C?.device?rows.find((row)=>deviceKey(row)===C.device):null;
const bE=deviceLabels(rows.some((row)=>row.parent)?u:an?[...ag,an]:ag);
return{devices:C?ag.map(r):[],devicesBefore:_,deviceTotal:rows.length,unrealDevices:unrealDevices(rows),sameModel:rows.length>1&&new Set(rows.map(modelOf)).size===1,chosenDevice:an?r(an):null,heldBy:heldBy(rows,c),devicesFree:rows.filter((row)=>!row.holders?.length&&!row.free_reason).length,devicesTaken:rows.filter((row)=>!row.holders?.length&&row.free_reason&&!row.gone).length}}
function tilesInSight(X,d6={top:0,height:460,row:40,columns:20}){if(X<=MOST_TILES)return{first:0,last:X};
const{top:aW,height:aq,row,columns:P}=d6;
const T=Math.min(X,P*(Math.ceil((aW+aq)/row)+LINES_BEYOND));
return{first:Math.max(0,Math.min(Math.floor(aW/row)-LINES_BEYOND,Math.floor(X/P)))*P,last:T}}
function heldBy(rows,c){const cm=new Map();
for(const row of rows){for(const j of row.holders??[]){const m=cm.get(j.name)??{number:0,share:0,first:j};
m.number+=1;
m.share+=Math.min(1,j.amount??1);
cm.set(j.name,m)}}
const u=[...cm].sort((N,J)=>J[1].number-N[1].number);
return u.map(([g,{number:l,share:be,first:_}])=>({name:plain(g),number:l,share:be,colour:colourOf(c,_.function||g)}))}
function deviceKey(row){return`${row.node_id??""}/${row.resource}/${row.id}`}
function modelOf(row){return`${row.name||row.type||row.family}·${row.parent?"":(row.profile??"")}·${row.kind??"real"}`}
function deviceView(row,L,e,c,k){const[sign,a]=deviceState(row);
const holders=holderViews(row.holders??[],c,k);
return{key:deviceKey(row),label:L,title:row.parent?plain(row.id):"",node:e,model:modelWords(row),sign,state:a,use:useWords(holders),utilisation:utilisation(row),memory:memory(row),power:power(row),facts:facts(row),reason:plain(row.free_reason),holders}}
function deviceState(row){const $=row.holders?.length;
if(row.over)return["–","given back"];
if(row.gone)return["✕","gone"];
if(row.free_reason&&!$)return["◼","taken"];
if(!$)return["○","free"];
return(row.free??1)>0?["◐","shared"]:["●","held"]}
function holderViews(holders,c,k){const bm=holders.map((j)=>j.task_id??j.actor_id??j.name);
return holders.map((j,x)=>({key:bm[x],name:plain(j.name),part:(j.amount??1)===1?"":amount(j.amount??1),cell:plain(j.cell),owner:ownerOf(c,j),age:j.since?age(k-j.since):"",pid:j.pid?`pid ${j.pid}`:"",colour:colourOf(c,j.function||j.name,j.actor_id??bm[x]),fraction:Math.min(1,Math.max(0,j.amount??1)),taskId:j.task_id??"",actorId:j.task_id?"":(j.actor_id??"")}))}
function useWords(holders){if(!holders.length)return"nobody holds it";
return holders.map((j)=>`${j.name} ${j.part||"1"}`).join(", ")}
function utilisation(row){const aT=row.metrics?.utilisation_percent;
return aT==null?null:{percent:aT,text:`${Math.round(aT)} %`}}
function memory(row){const cA=row.metrics?.memory_used_bytes;
const X=row.metrics?.memory_total_bytes??row.memory_bytes;
if(cA==null||!X)return null;
return{percent:(100*cA)/X,text:`${size(cA)} of ${size(X)}`}}
function power(row){const df=row.metrics?.power_watts;
return df==null?null:{percent:0,text:`${Math.round(df)} W`}}
function facts(row){const ae=[];
if(row.metrics?.temperature_celsius!=null)ae.push(`${Math.round(row.metrics.temperature_celsius)} °C`);
if(row.metrics?.power_watts!=null)ae.push(`${Math.round(row.metrics.power_watts)} W`);
return ae.join(" · ")}
function afterEnd(c){const{shared:bu}=c.runtime;
const ch=(a)=>(ENDED.has(a)?a:"ENDED_WITH_IT");
const W=(c.tasks??[]).map((row)=>({...row,state:ch(row.state),reason:ENDED.has(row.state)?row.reason:null}));
const K={};
for(const[a,l]of Object.entries(c.counts??{}))K[ch(a)]=(K[ch(a)]??0)+l;
if(bu)delete K.ENDED_WITH_IT;
return{...c,devices:(c.devices??[]).map((row)=>({...row,holders:[],free_reason:"",metrics:null,over:true})),tasks:bu?W.filter((row)=>ENDED.has(row.state)):W,counts:K,actors:(c.actors??[]).map((row)=>({...row,state:"DEAD",pending_calls:0})),actor_counts:{}}}
const ALERTS={infeasible:"Can never start",leak:"Memory leak"};
const HIDDEN_RESOURCES=/^(node:|accelerator_type:|bundle_)|^(memory|object_store_memory)$|_group_/;
const BY_STATE={column:"",down:false};
const NO_FILTER={state:"",cell:"",text:""};
function sceneOf(ai,C,k){const al=ai.lost?"the kernel has gone":!ai.ended?"":ai.runtime.shared?"left":"shut down";
const c=al?afterEnd(ai):ai;
const K=taskCounts(c);
const S=C.tab;
const bd=c.runs?.(k,al!=="",c);
const W=S==="tasks"?tasksOf(c,C,k):[];
return{title:titleOf(c),ended:al,endedAt:al&&`${ai.lost?"This was known":ai.runtime.shared?"Left":"Shut down"} at ${clock(ai.time??k,k)}.`,counts:K,busy:al?[]:busyOf(c),resources:al?resourcesOf(c,true):besideOf(c),tabs:tabsOf(c,K,bd),...devicesOf(c,k,S==="devices"?C:null),found:(c.found??[]).map(plain),waiting:waitingViews(c,k),tasks:W,tasksFound:C.found?.total??W.length,foundInAll:Boolean(C.found),taskRows:(c.tasks??[]).length,taskTotal:Object.values(K).reduce((aj,l)=>aj+l,0),cells:S==="tasks"?cellsOf(c):[],actors:S==="actors"?actorViews(c,k):[],actorsMore:actorsMore(c),runs:bd,pastViews:c.past,timeline:S==="timeline"&&c.past?c.past.timelineOf(c,C.window,k,C.range,C.past?.runs?.data):null,accounts:S==="accounting"&&c.past?c.past.accountsView(C.past?.accounting?.data,c,k):null,alerts:alertsOf(c,k),nodes:nodesOf(c,k)}}
function tasksOf(c,C,k){const ax=C.found;
const rows=ax?{...c,tasks:ax.tasks,reasons:ax.reasons}:c;
return ordered(taskViews(rows,ax?NO_FILTER:C.filter,k),C.sort??BY_STATE,C.held??null)}
function titleOf(c){const{engine:ce,version:eh,pid:br,shared:bu}=c.runtime;
const cC=(c.nodes??[]).filter((e)=>e.alive!==false).length;
return["nbaccel "+plain(eh),`${plain(ce)} engine`,cC>1?count(cC,"node"):"",br?`head pid ${br}`:"",bu?"shared by several notebooks":""].filter(Boolean)}
function busyOf(c){const bc=new Map();
const bb=goneNodes(c);
for(const row of c.devices??[]){if(row.offered===false||bb.has(row.node_id??""))continue;
const v=bc.get(row.resource)??{held:0,all:0};
v.all+=1;
if(row.holders?.length||row.free_reason)v.held+=1;
bc.set(row.resource,v)}
if(bc.size)return[...bc].map(([g,{held:$,all:u}])=>`${$} of ${count(u,plain(g))} busy`);
const aj=(of)=>(c.nodes??[]).reduce((u,e)=>u+(e.alive===false?0:(e[of]?.CPU??0)),0);
return aj("totals")?[`${amount(aj("totals")-aj("available"))} of ${amount(aj("totals"))} CPUs busy`]:[]}
function besideOf(c){const rows=(c.devices??[]).filter((row)=>row.offered!==false);
const bc=new Set(rows.length?rows.map((row)=>row.resource):["CPU"]);
const ay=[...sumsOf(c)].filter(([g])=>!bc.has(g)).map(([g,[bB,u]])=>`${amount(u-bB)} of ${count(+amount(u),plain(g))} busy`);
const bb=goneNodes(c);
const bu=[...bc].map((v)=>{const ar=rows.reduce((aj,row)=>aj+(row.resource===v&&row.holders?.length&&!bb.has(row.node_id??"")?(row.free??1):0),0);
return ar>0?`${amount(ar)} ${plain(v)} free on shared ones`:""});
return[...ay,...bu.filter(Boolean)]}
function resourcesOf(c,al){return[...sumsOf(c)].map(([g,[bB,u]])=>`${plain(g)} ${al?amount(u):`${amount(bB)} of ${amount(u)} free`}`)}
function sumsOf(c){const cw=new Map();
for(const e of c.nodes??[]){for(const[g,X]of e.alive===false?[]:Object.entries(e.totals??{})){if(HIDDEN_RESOURCES.test(g))continue;
const[bB,u]=cw.get(g)??[0,0];
cw.set(g,[bB+(e.available?.[g]??0),u+X])}}
return cw}
function tabsOf(c,K,bd){const aK=(c.alerts??[]).length;
const dl=(c.actors??[]).filter((row)=>row.state!=="DEAD").length+actorsMore(c);
const tabs=[{id:"devices",label:"Devices",badge:0,urgent:false},{id:"waiting",label:"Waiting",badge:K.waiting,urgent:false},{id:"tasks",label:"Tasks",badge:K.failed,urgent:false,failed:true},{id:"actors",label:"Actors",badge:dl,urgent:false},{id:"timeline",label:"Timeline",badge:0,urgent:false},{id:"accounting",label:"Accounting",badge:0,urgent:false},{id:"alerts",label:"Alerts",badge:aK,urgent:aK>0}];
if(bd)tabs.push({id:"runs",label:"Runs",badge:bd.active,urgent:false});
if((c.nodes??[]).length>1||c.arrivals?.length)tabs.push({id:"nodes",label:"Nodes",badge:0,urgent:false});
return tabs}
function actorsMore(c){const ab=(c.actors??[]).filter((row)=>row.state!=="DEAD").length;
const u=Object.entries(c.actor_counts??{}).filter(([a])=>a!=="DEAD");
return Math.max(0,u.reduce((aj,[,l])=>aj+l,0)-ab)}
function alertsOf(c,k){return(c.alerts??[]).map((O,x)=>({key:`${O.since}/${x}`,kind:O.kind,title:ALERTS[O.kind]??plain(O.kind[0].toUpperCase()+O.kind.slice(1)),message:plain(O.message),age:age(k-O.since),never:(O.kind==="infeasible"&&O.task_id)||"-"})).reverse()}
function nodesOf(c,k){const dF=(c.nodes??[]).map((e)=>({key:e.node_id,name:plain(e.name),sign:e.alive===false?"✕":"●",state:e.alive===false?"gone":"alive",role:e.is_head?"head":"",resources:resourcesOf({...c,nodes:[e]},Boolean(c.ended)).join(" · "),why:plain(e.why)||whyOfNode(e,k),moves:(e.leaves_at??0)>k}));
const dq=(c.arrivals??[]).map((D)=>({key:D.id,name:plain(D.node_type),sign:"◌",state:"arriving",role:"",resources:"",moves:true,why:`for ${duration(k-(D.since??k))}${D.usually_s?` (usually ${duration(D.usually_s)})`:""}${["","arriving"].includes(D.state??"")?"":`: ${plain(D.state)}`}`}));
return[...dF,...dq]}
function whyOfNode(e,k){if(e.kept_by)return`stays: ${plain(e.kept_by)}`;
if(!e.leaves_at||!e.idle_since)return"";
const ar=e.leaves_at-k;
return`idle for ${duration(k-e.idle_since)}, ${ar>0?`leaves in ${duration(ar)}`:"kept for a request or its type's min"}`}
const STYLE=`
&{
--ink:var(--jp-ui-font-color1,var(--vscode-foreground,CanvasText));
--quiet:var(--jp-ui-font-color2,var(--vscode-descriptionForeground,color-mix(in srgb,CanvasText 72%,Canvas)));
--ground:var(--jp-layout-color1,var(--vscode-editor-background,Canvas));
--raised:var(--jp-layout-color2,var(--vscode-editorWidget-background,color-mix(in srgb,CanvasText 7%,Canvas)));
--line:var(--jp-border-color2,var(--vscode-panel-border,color-mix(in srgb,CanvasText 22%,Canvas)));
--edge:color-mix(in srgb,var(--ink) 55%,transparent);
--focus:var(--jp-brand-color1,var(--vscode-focusBorder,Highlight));
--warn:${PALETTE.attention};
--failed:color-mix(in srgb,${PALETTE.failure} 65%,var(--ink));
color:var(--ink);background:var(--ground);border:1px solid var(--line);border-radius:6px;
padding:10px 14px;margin:2px 0;box-sizing:border-box;max-width:100%;container-type:inline-size;
font:var(--jp-ui-font-size1,13px)/1.45 var(--jp-ui-font-family,var(--vscode-font-family,system-ui,sans-serif));
font-variant-numeric:tabular-nums}
& *{box-sizing:border-box}
& .quiet{color:var(--quiet)}
& .small{font-size:.92em}
& .nowrap,& .short{white-space:nowrap}
& .unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
& p{margin:6px 0}
& .line{display:flex;flex-wrap:wrap;gap:2px 12px;align-items:baseline}
& .aside{margin-left:auto}
& .top{flex-wrap:nowrap}& .top>:not(.first){flex:none}& .first{flex:1 1 0;min-width:0}
& .one-line{display:flex;gap:4px 14px;align-items:center;min-height:24px;white-space:nowrap;overflow:hidden}
& .one-line .has{flex:0 1 auto;min-width:0;overflow:hidden;text-overflow:ellipsis}
& .one-line button,& .one-line .line,& .one-line style+*{flex:none}
& .one-line .sign{margin:0}& .one-line .cut{vertical-align:bottom}
& .device{flex:1 1 0;min-width:0;display:flex;gap:6px;align-items:center;max-width:34em}
& .device .bar{flex:0 0 28px;height:10px}& .strip>.bar{flex:0 0 160px;height:10px}
& .most .runs{flex:1;min-width:0;margin:0}& .most .runs li+li{display:none}& .most .runs .line{flex-wrap:nowrap}& .most .runs .cut{flex:none}
& .most .alert{border-left:4px solid var(--warn);padding-left:8px}
& button,& select,& input{font:inherit;color:var(--ink);background:transparent;
border:1px solid var(--line);border-radius:4px;padding:1px 8px;min-height:24px;margin:0;width:auto;box-shadow:none}
& select,& input{background:var(--ground);border-color:var(--edge)}
& option{color:var(--ink);background:var(--ground)}
& button{white-space:nowrap;overflow-wrap:normal;cursor:pointer;transition:background-color .12s}
& button:hover{background:var(--raised)}
& button[disabled]{cursor:default;color:var(--quiet);border-style:dashed}
& button[aria-pressed=true]{background:var(--raised);border-color:var(--edge);font-weight:600}
& :focus-visible{outline:2px solid var(--focus);outline-offset:1px}
& .chip{border:1px solid var(--line);border-radius:9px;padding:0 7px;font-size:.88em;color:var(--quiet);white-space:nowrap}
& .chip.urgent{border-color:var(--warn);color:var(--ink);font-weight:600}
& .tabs{display:flex;flex-wrap:wrap;gap:2px;border-bottom:1px solid var(--line);margin-top:8px}
& [role=tab]{border:0;border-bottom:2px solid transparent;border-radius:4px 4px 0 0;padding:3px 10px;color:var(--quiet)}
& [role=tab][aria-selected=true]{color:var(--ink);font-weight:600;border-bottom-color:var(--focus)}
& .first{font-size:1.08em}
& .count{border:0;padding:0;min-height:24px;border-radius:3px;text-decoration:underline;text-decoration-color:var(--line);text-underline-offset:3px}
& .count.failed,& .state.failed{color:var(--failed)}
& .count.finished,& .count.cancelled,& .state.cancelled .sign,& .state.waiting .sign{color:var(--quiet)}
& .ink{background:none!important;color:var(--c)}
& .cut{display:inline-block;max-width:24ch;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;vertical-align:bottom}
& .below{display:block;margin-left:0!important}
& .sorts{border:0;padding:0;min-height:0;color:inherit;font-weight:inherit}
& .goes{border:0;padding:0;min-height:0;text-decoration:underline;text-decoration-color:var(--line);text-underline-offset:3px}
& .opens{border:0;padding:0 4px 0 0}
& .part.failed{background:${PALETTE.failure}}
& tr.group .bar{display:inline-flex;width:84px;vertical-align:middle}
& tr.inner th{padding-left:18px}
& tr.gap{border:0}
& .models{margin:8px 0 -2px}
& code{font-family:var(--jp-code-font-family,var(--vscode-editor-font-family,monospace));background:var(--raised);color:var(--ink);border-radius:3px;padding:0 4px}
& .tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(76px,1fr));gap:4px;list-style:none;margin:8px 0 0;padding:0}
& .tiles li{margin:0;min-width:0;height:calc(1.34em + 20px);contain:size layout style}
& .tiles.lined li{height:calc(1.34em + 38px)}
& .tiles li.gap{grid-column:1/-1}
& .scroll.of-tiles{max-height:300px}& .of-tiles .tiles{margin:2px}
& .tile{display:flex;flex-direction:column;position:relative;width:100%;height:100%;padding:3px 6px 6px;text-align:left}
& .tile[aria-expanded=true]{border-color:var(--focus);background:var(--raised)}
& .tile.gone{border-style:dashed;color:var(--quiet)}& .tile.gone .bar{visibility:hidden}
& .tile .number{white-space:nowrap;overflow:hidden;font-size:.92em}
& .tile .load{position:absolute;right:6px;top:3px;width:42px;height:20px;contain:strict;text-align:right;white-space:nowrap;font-size:.92em}
& .tile .bar{width:100%;height:8px}
& .badge.failed{background:none;color:var(--failed);border:1px solid var(--failed)}
& .badge{margin-left:6px;padding:0 6px;border-radius:9px;background:var(--raised);color:var(--ink);font-size:.88em;font-weight:400}
& .scroll{overflow:auto;max-height:600px;margin-top:6px;background:linear-gradient(transparent,var(--ground) 70%) bottom/100% 48px no-repeat local,
linear-gradient(transparent,var(--line)) bottom/100% 12px no-repeat scroll}
& .scroll.whole{max-height:none}
& select{max-width:24ch}
& table{border-collapse:collapse;margin:0;width:100%;color:inherit;background:none;font-size:inherit;table-layout:auto}
& tr,& thead,& tbody tr:nth-child(n),& tbody tr:hover{background:none;border:0}
& th,& td{text-align:left;vertical-align:middle;padding:4px 16px 4px 0;border:0;font-weight:400;
white-space:normal;max-width:none;color:inherit;line-height:inherit}
& td.quiet{color:var(--quiet)}
& thead th{color:var(--quiet);font-size:.92em;border-bottom:1px solid var(--line);white-space:nowrap;
position:sticky;top:0;background:var(--ground);z-index:1}
& tbody tr+tr th,& tbody tr+tr td{border-top:1px solid color-mix(in srgb,var(--line) 55%,transparent)}
& th[scope=row]{white-space:nowrap}
& th[scope=row]>*+*{margin-left:8px}
& .label,& .name{font-weight:600}
& .why{min-width:15em;overflow-wrap:anywhere}
& tr.reason td{border:0!important;padding:0 0 5px;max-width:0}& tr.reason span{display:block;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
& .acts{white-space:nowrap;text-align:right;padding:4px 3px 4px 8px}
& .acts button+button{margin-left:4px}
& .bar{display:flex;width:110px;height:12px;border-radius:3px;background:var(--raised);overflow:hidden;
outline:1px solid var(--edge);outline-offset:-1px}
& .part{height:100%;transition:width .2s}& .measure .part{background:var(--edge)}
& .part.taken{width:100%;background:repeating-linear-gradient(135deg,${PALETTE.waiting} 0 3px,transparent 3px 6px)}
& .part+.part{border-left:2px solid var(--ground)}
& td.use .bar{width:84px;margin-bottom:3px}
& td.use{white-space:nowrap}
& .model{display:block;margin-left:0!important}
& .measure{display:flex;gap:8px;align-items:center;white-space:nowrap}
& .measure .bar{width:52px;height:8px}
& .trend{width:64px;flex:none}
& .spark{display:block;width:100%;height:16px;overflow:visible}
& .spark path{vector-effect:non-scaling-stroke;fill:none;stroke:var(--quiet);stroke-width:1.2}
& .spark .under{fill:color-mix(in srgb,var(--quiet) 25%,transparent);stroke:none}
& .measure+.measure{margin-top:2px}
& .spark .dots{stroke-dasharray:1 3}
& .tile .spark{height:14px;margin-top:4px}
& td.number{white-space:nowrap}
& .accounts table{table-layout:fixed}& .accounts th:first-child{width:30%}& .accounts th:last-child{width:28%}
& td.share .bar{display:inline-flex;width:60%;min-width:60px;max-width:220px;height:8px}
& .bar.plain .part{background:var(--edge)}
& .holders ul,& .alerts,& .lines{list-style:none;margin:0;padding:0}
& .holders li{display:flex;gap:8px;align-items:center;margin:0;min-height:27px}
& .holders .who{min-width:0;overflow-wrap:anywhere}
& .holders .name{margin-right:8px}
& .holders .facts{display:inline-block}
& .holders li>button,& .holders li>.ask{margin-left:auto}
& .holders{padding-right:2px;min-width:230px}
& .swatch{display:inline-block;width:10px;height:10px;border-radius:3px;flex:none}
&{position:relative}
& .alerts,& .lines{margin-top:6px}& .lines li{margin:4px 0}
& .alerts li{border-left:4px solid var(--warn);padding:3px 0 3px 10px;margin:6px 0}
& .filters{display:flex;flex-wrap:wrap;gap:6px 14px;align-items:center;margin-top:8px}
& .filters label{color:var(--quiet)}
& .said{min-height:0;margin:0}
& .said:not(:empty){margin-top:8px}
& .empty{margin:10px 0 4px}
& tr.logrow td{padding:2px 0 10px}
& .logrow td,& tbody tr.logrow td{border:0!important;flex:1 0 100%}
& .log{border-left:2px solid var(--line);padding:4px 0 2px 12px;min-width:0}
& .log details{margin-top:6px}
& .log summary{cursor:pointer;color:var(--quiet)}
& .failure pre:first-child{border-left:3px solid ${PALETTE.failure}}
& pre span{display:block;min-height:1.4em}
& pre .err{color:var(--quiet)}
& pre{margin:6px 0 0;padding:8px;max-height:240px;overflow:auto;background:var(--raised);color:var(--ink);border-radius:4px;
font:var(--jp-code-font-size,12px)/1.4 var(--jp-code-font-family,var(--vscode-editor-font-family,monospace));white-space:pre-wrap;overflow-wrap:anywhere}
& .timeline{display:block;width:100%;height:auto}
& .timeline text{font-size:12px;fill:var(--ink)}
& .timeline .tick-label{fill:var(--quiet);font-size:11px}
& .timeline .bar-name{background:none;fill:var(--on);font-size:11px;pointer-events:none}
& .timeline .tick,& .timeline .rule{stroke:var(--line);stroke-width:1;stroke-dasharray:2 4}
& .timeline .rule{stroke-dasharray:none;opacity:.6}
& .timeline{touch-action:pan-y;cursor:crosshair;user-select:none}
& .timeline .cancelled{stroke:var(--ink);stroke-width:1.5;stroke-dasharray:4 2}
& .timeline .failed{stroke:${PALETTE.failure};stroke-width:2.5}
& .axis{position:sticky;top:0;z-index:1;background:var(--ground)}
& .timeline .band{fill:color-mix(in srgb,var(--ink) 12%,transparent)}
& .hover{position:absolute;z-index:2;background:var(--ground);border:1px solid var(--line);border-radius:6px;padding:6px 10px;
pointer-events:none;box-shadow:0 2px 8px rgba(0,0,0,.2);overflow-wrap:anywhere}
& .hover .swatch{margin-right:8px}
& .timeline .depth{fill:${PALETTE.waiting};fill-opacity:.35;stroke:${PALETTE.waiting}}
@container (max-width:960px){& th,& td{padding-right:10px}
& td.nowrap{white-space:normal}& thead th{white-space:normal}& td.where .cut{max-width:12ch}& td.where{min-width:6.2em}& td.state{white-space:nowrap}
& .why{min-width:6em}& .acts button{padding:1px 5px}& td .cut,& th .cut{max-width:14ch}}
@container (max-width:700px){& .dot,& .device.many .has{display:none}& .first{display:flex;flex-wrap:wrap;gap:0 10px;align-items:baseline}& .strip>.bar{flex-basis:80px}
& td.load{display:flex;flex-wrap:wrap;gap:2px 12px}& .measure+.measure{margin:0}& .trend{width:40px}
& th[scope=row]{white-space:normal}& td .cut,& th .cut{max-width:24ch}
& .model,& .measure .bar{display:none}& td.use{display:flex;gap:8px;align-items:center}& td.use .bar{margin:0}
& thead{position:absolute;clip-path:inset(50%);width:1px;height:1px;overflow:hidden}
& table,& tbody{display:block}
& tbody tr{display:flex;flex-wrap:wrap;align-items:center;gap:2px 12px;padding:5px 0}
& tbody tr+tr{border-top:1px solid color-mix(in srgb,var(--line) 55%,transparent)!important}
& tbody tr th[scope=row]{flex:1 1 calc(100% - 160px);padding:0;border:0!important;min-width:0}
& tbody tr td{order:2;padding:0;border:0!important;min-width:0;max-width:100%}
& tbody tr td:empty{display:none}
& tbody tr.reason{border:0!important;padding:0 0 5px}& tr.reason td{max-width:none;flex:1 0 100%}& tr.reason span{white-space:normal}
& tbody tr td.why,& tbody tr td.holders{flex:1 0 100%;order:3;white-space:normal}
& tbody tr td.acts{order:1;flex:0 0 130px;margin-left:auto}
& tbody tr td{overflow-wrap:anywhere}
& td[data-head]:not(:empty):before{content:attr(data-head) " ";color:var(--quiet)}
& tr.gap{padding:0;border:0!important}}
@container (max-width:340px){& .top{flex-wrap:wrap}& .first{display:contents}& .first>strong{flex:1 1 calc(100% - 90px)}
& .first>:not(strong),& .top>.chip{order:1}}
@container (max-width:320px){& .holders{min-width:0}}
@media (prefers-reduced-motion:reduce){& *{transition:none!important;animation:none!important}}
@media (forced-colors:active){& .ink{color:CanvasText}&,& button,& .chip{border-color:CanvasText}
& .bar{outline-color:CanvasText;forced-color-adjust:none;background:Canvas}
& .tile .bar{forced-color-adjust:none}
& .bar .part{border-right:1px solid CanvasText}
& .swatch{forced-color-adjust:none}
& [role=tab]{border-color:Canvas}& [role=tab][aria-selected=true]{border-bottom-color:Highlight}
& .timeline .run,& .timeline .bar-name{forced-color-adjust:none}}
${colourRules("&")}
`.replaceAll("&",".nbaccel-cockpit.nbaccel-cockpit");
function watchVisibility(Q,ad){const w=Q.ownerDocument;
const dh=w.defaultView??window;
let cZ=false;
let T=null;
const aG=(a$=false)=>{const a6=cZ&&!a$&&w.visibilityState!=="hidden";
if(a6!==T){T=a6;
ad(a6,a$)}else if(a$)ad(false,true)};
const bH=new IntersectionObserver((cL)=>{cZ=cL[cL.length-1].isIntersecting;
aG()});
const c9=()=>aG();
const a$=()=>aG(true);
bH.observe(Q);
w.addEventListener("visibilitychange",c9);
dh.addEventListener("pagehide",a$);
return()=>{bH.disconnect();
w.removeEventListener("visibilitychange",c9);
dh.removeEventListener("pagehide",a$);
aG(true)}}
const MORE_ROWS=1000;
function mount(place,M,c$={}){const w=place.ownerDocument;
const i=w.createElement("div");
const bw=w.createElement("style");
bw.textContent=STYLE;
i.className="nbaccel-cockpit";
i.dataset.lmSuppressShortcuts="true";
place.append(bw,i);
const a=c$.state??newState(c$.details??false);
a.goes=(cell)=>Boolean(M.go)||isHere(i,cell);
a.retries=Boolean(M.retries);
const clock=kernelClock();
let a6=false;
const bn={running:(new Set())};
let waiting=0;
const az=()=>{waiting=0;
const c=M.snapshot();
const cO=i.contains(w.activeElement)?w.activeElement:null;
if(i.clientWidth)a.room=i.clientWidth-30;
if(!c)draw(i,drawEmpty("Waiting for the first snapshot of the cluster …"));
else drawSnapshot(i,c,a,c.ended?(c.time??0):clock.now());
if(cO&&!cO.isConnected)refocus(i,a)};
const bN=()=>{if(a6&&!waiting)waiting=requestAnimationFrame(az)};
const cD=()=>{const c=M.snapshot();
if(c?.time)clock.heard(c.time);
forget(a,c);
if(a6&&!c?.ended)aG();
const aB=c?endings(bn,c):[];
if(a.notices)notify(w.defaultView,aB);
bN()};
const bM=(k,a$=false)=>{a6=k;
const bF=k||(a.notices&&!a$);
M.send({say:bF?"visible":"hidden",view:a.id,rows:k&&a.wide?MORE_ROWS:0});
if(k)bD.look();
else bD.end();
bN()};
const cN=finder(M,a);
const bD=historian(M,a,clock.now);
const aG=()=>{cN.find();
bD.look()};
const ba=[cN.end,bD.end,M.subscribe(cD),actions(i,M,a,{redraw:bN,more:()=>bM(a6),look:aG,recall:bD.heard,now:clock.now}),watchRows(i,a,bN),watchVisibility(i,bM)];
const ea=setInterval(bN,1000);
cD();
az();
return()=>{clearInterval(ea);
if(waiting)cancelAnimationFrame(waiting);
for(const ah of ba)ah();
bw.remove();
i.remove()}}
function drawSnapshot(i,c,a,k){const C={filter:a.filter,window:a.window,range:a.range,sort:a.sort,held:a.held,tab:a.details?a.tab:"devices",found:foundNow(a),past:a.past,device:a.device,tiles:a.tiles};
const b=sceneOf(c,C,k);
if(b.timeline)a.shown={from:b.timeline.start,to:b.timeline.start+b.timeline.seconds};
const ag=()=>((a.only?drawOnly(b,a):drawFrame(b,a)).filter(Boolean));
draw(i,ag());
if(measureTiles(i,a))return drawSnapshot(i,c,a,k);
if(a.tab==="tasks"&&measure(i,a))draw(i,ag());
if((a.tab==="runs"||a.only)&&measureRows(i,a))draw(i,ag());
followLog(i,a)}
function forget(a,c){if(a.rows.size>4*MORE_ROWS)a.rows.clear();
if(!a.asked.size||!c)return;
const a1=new Set((c.actors??[]).filter((row)=>row.state!=="DEAD").map((row)=>row.actor_id));
for(const row of c.tasks??[])if(!ENDED.has(row.state))a1.add(row.task_id);
for(const A of a.asked)if(!a1.has(A))a.asked.delete(A)}
function refocus(i,a){const dP=i.querySelector('[data-act="keep"]')??i.querySelector(a.details?'[role="tab"][aria-selected="true"]':'[data-act="details"]');
(dP)?.focus({preventScroll:true})}
function unpacked(ai){return{...ai,devices:rowsOf(ai.devices),tasks:rowsOf(ai.tasks)}}
function rowsOf(table){if(!table||Array.isArray(table))return table??[];
const rows=Array.from({length:table.rows},()=>({}));
const a_=(P,dZ)=>{for(const[g,aY]of Object.entries(P??{})){const eg=dZ(aY);
rows.forEach((row,x)=>{const I=eg(x);
if(I!=null)row[g]=I})}};
const cR=(cB)=>(x)=>cB[x];
a_(table.same,(I)=>()=>I);
a_(table.each,cR);
a_(table.of,([dv,cr])=>(x)=>dv[cr[x]]);
a_(table.cut,([bf,cW,ah])=>(x)=>cW[x]==null?null:bf+cW[x]+ah);
a_(table.within,(cg)=>cR(rowsOf(cg)));
a_(table.lists,({sizes:d7,rows:cg})=>{const cB=rowsOf(cg);
return(x)=>cB.splice(0,d7[x])});
return rows}
function takePlaces(w,g,d4){const taken=new Map();
const c6=(place)=>{if(!taken.has((place)))taken.set((place),d4((place)))};
const c7=(e)=>{if(e.nodeType!==1)return;
const Q=(e);
if(Q.classList.contains(g))c6(Q);
for(const place of Q.getElementsByClassName(g))c6(place)};
const bH=new MutationObserver((d0)=>{for(const[place,ci]of taken){if(place.isConnected)continue;
taken.delete(place);
ci()}
for(const bK of d0)for(const e of bK.addedNodes)if(e.isConnected)c7(e)});
bH.observe(w,{childList:true,subtree:true});
c7(w.documentElement);
return()=>{bH.disconnect();
for(const ci of taken.values())ci()}}
function cover(place,a_){const c2=([...place.children]);
const a1=place.ownerDocument.createElement("div");
for(const D of c2)D.style.display="none";
place.append(a1);
const ah=a_(a1);
return()=>{ah();
a1.remove();
for(const D of c2)D.style.display=""}}
const PARTS={h,button,cell,empty,nameOf,table,rowsOf,PALETTE,age,amount,clock,count,demandWords,deviceWords,duration,hostWords,plain,stateWord,colourOf,subjectOf,deviceLabels,laneName,cellWords,LAST_MINUTE,WHOLE_RUN,inSight};
function loadedFrom(F,ed,ad){let C=false;
let cU=null;
return()=>{const bk=F.get(ed);
if(bk&&!C){C=true;
import(URL.createObjectURL(new Blob([bk],{type:"text/javascript"}))).then((ck)=>{cU=ck.default(PARTS);
ad()})}
return cU}}
function pastOf(F,ad){return loadedFrom(F,"past_code",ad)}
function runsOf(F,ad){const ck=loadedFrom(F,"runs_code",ad);
let q="";
let r=null;
return()=>{const[cJ,k]=[ck(),F.get("runs")];
if(cJ&&k!==q)r=cJ(JSON.parse((q=k)));
return r}}
const OF="nbaccel-of-";
function sourceOf(F){let q="";
let co=null;
let cj=false;
let cx=()=>{};
const bd=runsOf(F,()=>cx());
const bp=pastOf(F,()=>cx());
return{snapshot(){const k=F.get("snapshot");
if(k!==q){q=k;
co=k?unpacked(JSON.parse(k)):null}
const ab=co&&{...co,runs:bd(),past:bp()};
return cj&&ab?{...ab,ended:true,lost:cj}:ab},subscribe(ad){const db=()=>{cj=true;
ad()};
cx=ad;
F.on("change:snapshot",ad);
F.on("change:runs",ad);
F.on("change:past_code",ad);
F.on("comm_live_update",db);
return()=>{F.off("change:snapshot",ad);
F.off("change:runs",ad);
F.off("change:past_code",ad);
F.off("comm_live_update",db)}},listen(bl){F.on("msg:custom",bl);
return()=>F.off("msg:custom",bl)},send:(E)=>F.send(E),retries:true}}
function render({model:F,el:dw}){return mount(dw,sourceOf(F),{state:newState(Boolean(F.get("details")))})}
function initialize({model:F}){const c4=new WeakMap();
return takePlaces(document,F.get("place"),(place)=>{const a=c4.get(place)??newState(place.classList.contains("nbaccel-details"));
a.only=[...place.classList].find((g)=>g.startsWith(OF))?.slice(OF.length)??"";
c4.set(place,a);
return cover(place,(a1)=>mount(a1,sourceOf(F),{state:a}))})}
export default{initialize,render};
