// nbaccel's cockpit, joined from nbaccel/notebook/cockpit/ by tools/join_cockpit.py. Change it there.
function copyText(t,q){const cG=t.defaultView?.navigator.clipboard;
if(cG)cG.writeText(q).catch(()=>copySelected(t,q));
else copySelected(t,q)}
function copySelected(t,q){const aN=t.createElement("textarea");
aN.value=q;
aN.style.position="fixed";
t.body.append(aN);
aN.select();
t.execCommand("copy");
aN.remove()}
const STEP=0.8;
function isHere(i,F){return F.startsWith("[")&&Boolean(i.closest(".jp-Notebook"))}
async function dZ(i,F,aq){const b$=i.closest(".jp-Notebook");
const t=i.ownerDocument.defaultView;
if(!b$||!t)return;
const ct=F.split(" ")[0];
const at=(q)=>[...b$.querySelectorAll(".jp-InputPrompt")].find((L)=>L.textContent===`${q}:`)?.closest(".jp-Cell");
const bF=b$.querySelector(".jp-WindowedPanel-outer")??b$;
const A=bF.scrollTop;
let cell=at(ct);
for(let br=0;!cell&&br<bF.scrollHeight;br+=STEP*bF.clientHeight){bF.scrollTop=br;
await new Promise((ah)=>t.requestAnimationFrame(()=>t.requestAnimationFrame(ah)));
cell=at(ct)}
if(!cell)bF.scrollTop=A;
cell??=at("[*]");
if(!cell)return aq(`No cell of this notebook is ${ct} any more.`);
cell.scrollIntoView({block:"center"});
(cell).focus({preventScroll:true})}
const SIZES=([[2**40,"TiB"],[2**30,"GiB"],[2**20,"MiB"],[2**10,"KiB"]]);
const ENDED=new Set(["FINISHED","FAILED","CANCELLED"]);
const RUNNING=new Set(["RUNNING","RUNNING_IN_RAY_GET","RUNNING_IN_RAY_WAIT","SUBMITTED_TO_WORKER"]);
function amount(bD){return String(Math.round(bD*10000)/10000)}
function size(bS){if(bS==null)return"unknown";
for(const[b6,T]of SIZES){if(bS>=b6){const M=bS/b6;
return`${M>=10||Number.isInteger(M)?Math.round(M):M.toFixed(1)} ${T}`}}
return`${bS} B`}
function age(ax){const aD=Math.max(0,Math.floor(ax));
if(aD<60)return`${aD} s`;
const[b6,bX,ap,dF]=aD<3600?["min",60,aD%60,"s"]:["h",3600,Math.floor((aD%3600)/60),"min"];
return`${Math.floor(aD/Number(bX))} ${b6}${ap?` ${String(ap).padStart(2,"0")} ${dF}`:""}`}
function duration(ax){return ax<9.95?`${Math.max(0,ax).toFixed(1)} s`:age(ax)}
function clock(bJ,k){const u=new Date(bJ*1000);
const bK=(l)=>String(l).padStart(2,"0");
const[dl,cH]=[`${bK(u.getMonth()+1)}-${bK(u.getDate())}`,`${bK(u.getHours())}:${bK(u.getMinutes())}`];
return u.toDateString()===new Date(k*1000).toDateString()?`${cH}:${bK(u.getSeconds())}`:`${dl} ${cH}`}
function plain(q){return(q??"").replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,(di)=>`\\u${di.charCodeAt(0).toString(16).padStart(4,"0")}`)}
function hostWords(g){return/^[\d.:]+$/.test(g)?g:g.split(".")[0]}
function count(l,cm){return l===1||cm.endsWith("s")?`${l} ${cm}`:`${l} ${cm}s`}
function demandWords(dm){const ad=Object.entries(dm??{}).filter(([,bD])=>bD);
return ad.map(([g,bD])=>`${amount(bD)} ${plain(g)}`).join(", ")||"nothing"}
function deviceWords(bh){return Object.entries(bh??{}).filter(([,a1])=>a1.length).map(([g,a1])=>`${plain(g)} ${a1.map(plain).join(", ")}`).join("; ")}
function shortId(z){const dL=z.length===48&&z.startsWith("000000",24);
if(dL)return`${z.slice(0,4)}-${parseInt(z.slice(30,40),16)}`;
return z.startsWith("f".repeat(16))?z.slice(16,28):z.slice(0,12)}
function taskName(g){return plain(g).replace(/\.__init__$/," (starting)")}
function stateWord(a){if(RUNNING.has(a))return"running";
if(a.startsWith("PENDING"))return"waiting";
return a.toLowerCase().replaceAll("_"," ")}
function stateSign(T){return{running:"●",waiting:"◌",finished:"✓",failed:"✕",cancelled:"⊘","ended with it":"–",alive:"●",dead:"✕"}[T]??"◌"}
function ownerOf(c,row){if(!row.job||row.job===c.runtime.job||!c.jobs?.length)return"";
return plain(c.jobs.find((dE)=>dE.number===row.job)?.name??`job ${row.job}`)}
function cellWords(c,row){return[ownerOf(c,row),plain(row.cell)].filter(Boolean).join(" ")}
const LONG_S=60;
const MOST_RUNNING=10_000;
function endings(bi,c){const ay=[];
if(bi.running.size>MOST_RUNNING)bi.running.clear();
for(const row of c.tasks??[]){if(!ENDED.has(row.state)){if(row.started_at!=null&&!ownerOf(c,row))bi.running.add(row.task_id);
continue}
if(!bi.running.delete(row.task_id)||row.started_at==null)continue;
const ax=(row.finished_at??c.time??0)-row.started_at;
if(ax<LONG_S)continue;
const aX=row.reason==null?row.why:c.reasons?.[row.reason];
const cz=`${plain(row.name)} #${shortId(row.task_id)} ${{FINISHED:"has finished",FAILED:"has failed"}[row.state]??`was ${stateWord(row.state)}`}`;
ay.push({id:row.task_id,title:cz,body:[`after ${age(ax)}`,row.cell&&`cell ${plain(row.cell)}`,plain(aX)].filter(Boolean).join(" · ")})}
return ay}
async function d6(t,a,aq){const bA=(t)?.Notification;
if(a.notices){a.notices=false;
aq("");
return}
if(!bA)return aq("This browser shows no notices.");
a.notices=(await bA.requestPermission())==="granted";
aq(a.notices?"The browser will tell you when a task of more than a minute ends or fails.":"The browser does not let this page show notices. Its settings for this site can change that.")}
function notify(t,ay){const bA=(t)?.Notification;
if(!bA)return;
for(const{id:z,title:cz,body:bu}of ay)new bA(cz,{body:bu,tag:`nbaccel-${z}`})}
const OFFERED="nbaccel-order";
function secondWay(i,J,D,aC){const bl=J.snapshot()?.runtime.pid;
const dM=new CustomEvent(OFFERED,{bubbles:true,cancelable:true,detail:{message:D,pid:bl,taken:aC}});
return!i.dispatchEvent(dM)}
const TILES=".scroll.of-tiles";
const REGIONS=".scroll[data-sight]";
function watchRows(i,a,aw){const aL=(o)=>{const y=(o.target);
if(y.matches?.(TILES))measureTiles(i,a);
else if(y.matches?.(REGIONS))note(y,a);
else return;
aw()};
const moved=(o)=>{const bu=o.type==="pointerover"?(o.target).closest?.(`${REGIONS} tbody`):null;
const aK=(bu?.closest(REGIONS)??null)?.dataset.sight??"";
if(aK===a.heldSight)return;
a.heldSight=aK;
aw()};
return listening(i,aL,moved)}
function listening(i,aL,moved){i.addEventListener("scroll",aL,true);
i.addEventListener("pointerover",moved);
i.addEventListener("pointerleave",moved);
return()=>{i.removeEventListener("scroll",aL,true);
i.removeEventListener("pointerover",moved);
i.removeEventListener("pointerleave",moved)}}
function measureRows(i,a){const dV=([...i.querySelectorAll(REGIONS)]);
return dV.map((y)=>note(y,a)).some(Boolean)}
function measureTiles(i,a){const y=i.querySelector(TILES);
const tile=y?.querySelector("li:not(.gap)");
const list=tile?.parentElement;
if(!y||!tile||!list)return false;
const bq=getComputedStyle(list);
const k={top:y.scrollTop,height:y.clientHeight,columns:bq.gridTemplateColumns.split(" ").length,row:tile.getBoundingClientRect().height+parseFloat(bq.rowGap)};
const A=a.tiles;
a.tiles=k;
return A?.columns!==k.columns||Math.abs(A.top-k.top)>k.row||Math.abs(A.height-k.height)>k.row||Math.abs(A.row-k.row)>0.1}
function note(y,a){const g=y.dataset.sight??"";
const A=a.sights.get(g);
const rows=y.querySelectorAll("tbody tr:not(.gap)");
if(!rows.length)return false;
const aE=(rows[rows.length-1].getBoundingClientRect().bottom-rows[0].getBoundingClientRect().top)/rows.length;
const P=A&&(aE<8||Math.abs(aE-A.row)<4);
a.sights.set(g,{top:y.scrollTop,height:Math.max(y.clientHeight,100),row:P?A.row:aE});
return!P||Math.abs(A.top-y.scrollTop)>1}
const TASKS='.scroll[aria-label="Tasks"]';
function watchSight(i,a,aw){const aL=(o)=>{const y=(o.target);
if(a.log&&y.matches?.(".printed"))a.log.follow=y.scrollTop+y.clientHeight>y.scrollHeight-4;
if(!y.matches?.(TASKS))return;
a.scrolled={...a.scrolled,top:y.scrollTop,height:y.clientHeight};
aw()};
const moved=(o)=>{const aK=o.type==="pointerover"&&Boolean((o.target).closest?.(`${TASKS} tbody`));
if(aK===Boolean(a.held))return;
a.held=aK?a.order:null;
aw()};
return listening(i,aL,moved)}
function measure(i,a){const y=i.querySelector(TASKS);
const rows=y?.querySelectorAll("tr[data-task]");
if(!y||!rows?.length)return false;
const A=a.scrolled;
const ac=(rows[0]).getBoundingClientRect();
const S=(rows[rows.length-1]).getBoundingClientRect();
const av=y.querySelector(".logrow")?.getBoundingClientRect().height??0;
const row=(S.bottom-ac.top-(y.querySelector(".logrow ~ tr[data-task]")?av:0))/rows.length;
const P=row<8||Math.abs(row-A.row)<4;
a.scrolled={top:y.scrollTop,height:Math.max(y.clientHeight,100),row:P?A.row:row};
return!P||Math.abs(a.scrolled.top-A.top)>1}
const SAY_EVERY_MS=5000;
function speaker(a,r){let S=0;
let aF;
return(F)=>{clearTimeout(aF);
const b7=Math.max(0,S+SAY_EVERY_MS-Date.now());
aF=setTimeout(()=>{S=Date.now();
a.said=F;
r.redraw()},a.said?b7:0)}}
const LEAST_S=0.05;
const LEAST_DRAG_PX=6;
const CARD_PX=246;
const HOVERS=["pointerover","pointerleave","focusin","focusout"];
function zoomed({from,to:a3},bR,place=0.5){const bX=Math.max(LEAST_S,(a3-from)*bR);
const u=from+(a3-from)*place;
return{from:u-bX*place,to:u+bX*(1-place)}}
function moved({from,to:a3},a9){const bR=(a3-from)*a9;
return{from:from+bR,to:a3+bR}}
function keyed(w,aO){if(w==="+"||w==="=")return{range:zoomed(aO,0.5)};
if(w==="-")return{range:zoomed(aO,2)};
if(w==="ArrowLeft")return{range:moved(aO,-0.2)};
if(w==="ArrowRight")return{range:moved(aO,0.2)};
return w==="0"||w==="Home"?{range:null}:null}
function placeOfCard(i,bQ){const[bc,a5]=[i.getBoundingClientRect(),bQ.getBoundingClientRect()];
const aG=Math.max(8,Math.min(a5.left,bc.right-CARD_PX)-bc.left);
const b9=a5.top-bc.top<bc.height/2?`top:${a5.bottom-bc.top+4}px`:`bottom:${bc.bottom-a5.top+4}px`;
return`left:${Math.round(aG)}px;max-width:${CARD_PX-16}px;${b9}`}
function watchZoom(i,a,$,aw){let aR=null;
const c1=(o)=>(o.target).closest?.("svg.timeline");
const placeOf=(aP,ec)=>{const a5=aP.getBoundingClientRect();
const{width:eb,left:aG,right:cu}=a.lanes;
return Math.min(1,Math.max(0,(((ec-a5.left)/a5.width)*eb-aG)/(cu-aG)))};
const dc=(o)=>{const aP=c1(o);
if(!aP||!(o.ctrlKey||o.metaKey))return;
o.preventDefault();
a.range=zoomed($(),o.deltaY>0?1.25:0.8,placeOf(aP,o.clientX));
aw(true)};
const pressed=(o)=>{const aP=c1(o);
aR=aP&&o.button===0?{x:o.clientX,place:placeOf(aP,o.clientX)}:null};
const cZ=(o)=>{const aP=i.querySelector("svg.timeline");
if(!aR||!aP||Math.abs(o.clientX-aR.x)<LEAST_DRAG_PX)return void(aR=null);
const[aG,cu]=[aR.place,placeOf(aP,o.clientX)].sort((N,G)=>N-G);
const{from,to:a3}=$();
const aO={from:from+(a3-from)*aG,to:from+(a3-from)*cu};
if(aO.to-aO.from>=LEAST_S)a.range=aO;
aR=null;
aw(true)};
const cP=(o)=>{const aK=(/pointerover|focusin/.test(o.type)?(o.target).closest?.("[data-bar]"):null);
const bQ=aK?.dataset.bar??"";
if(bQ===a.hover.bar)return;
a.hover={bar:bQ,style:aK?placeOfCard(i,aK):""};
aw(false)};
const w=(o)=>{const dN=(o.target).matches?.('.scroll[aria-label="Timeline"]');
const ah=dN&&!o.ctrlKey&&!o.metaKey?keyed(o.key,$()):null;
if(!ah)return;
a.range=ah.range;
o.preventDefault();
aw(true)};
i.addEventListener("wheel",dc,{passive:false});
i.addEventListener("pointerdown",pressed);
i.addEventListener("pointerup",cZ);
for(const cA of HOVERS)i.addEventListener(cA,cP);
const az=()=>{i.removeEventListener("wheel",dc);
i.removeEventListener("pointerdown",pressed);
i.removeEventListener("pointerup",cZ);
for(const cA of HOVERS)i.removeEventListener(cA,cP)};
return{key:w,end:az}}
const TAKEN_WITHIN_MS=1500;
function actions(i,J,a,r){const bM=new Map();
const aq=speaker(a,r);
const bC=(D,g)=>{a.doubted="";
J.send(D);
a.asked.add(D.id);
clearTimeout(bM.get(D.id));
bM.set(D.id,setTimeout(()=>{if(D.say!=="retry"&&secondWay(i,J,D,aq))return;
aq(`The kernel is busy and takes messages only between cells: ${g} is told when the running cell ends. To end the cell itself, use Stop.`)},TAKEN_WITHIN_MS));
r.redraw()};
const bb={cancel:(n)=>bC({say:"cancel",id:n.id},`${n.name}`),retry:(n)=>bC({say:"retry",id:n.id},`${n.name}`),kill:(n)=>bC({say:"kill",id:n.id},`${n.name}`),"cancel-run":(n)=>bC({say:"stop",id:n.id},`${n.name}`),doubt(n){a.doubted=n.id??"";
aq(`${n.name} belongs to ${n.owner}, not to this notebook.`)},notices:()=>void d6(i.ownerDocument.defaultView,a,aq).then(r.more),sure:(n)=>void(a.doubted=n.id??""),"cancel-many":(n)=>bC({say:"cancel-many",id:n.id,function:n.function,filter:{state:n.state,cell:n.cell,text:n.text}},`${n.name}`),keep(){a.doubted="";
aq("")},logs(n){delete a.past.task_log;
a.log=a.log?.id===n.id?null:{id:n.id??"",name:n.name??"",search:"",follow:true};
r.look()},"close-log":()=>void(a.log=null),go:({cell=""})=>void(J.go?J.go(cell):dZ(i,cell,aq)),details(){a.details=!a.details;
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
r.look()},sort(n){const be=n.column??"";
a.sort={column:be,down:a.sort.column===be&&!a.sort.down};
a.held=null},group:(n)=>void(a.open.delete(n.function??"")||a.open.add(n.function??"")),tile:(n)=>void(a.device=a.device===n.device?"":(n.device??"")),copy(n){copyText(i.ownerDocument,n.text??"");
aq(`Copied ${n.name}.`)},trace(){const c=J.snapshot();
if(c?.past)save(i.ownerDocument,JSON.stringify(c.past.traceOf(c,r.now())))}};
const cF=(o)=>{const ba=((o.target).closest?.("[data-act]"));
if(!ba||ba.hasAttribute("disabled"))return;
const aj=ba.dataset.act??"";
const dD=(o).detail>1;
if(!dD||!/^(cancel|kill|retry)/.test(aj))bb[aj]?.(ba.dataset);
r.redraw()};
const c6=(o)=>{const aN=(o.target);
if(aN.dataset?.search&&a.log){a.log.search=aN.value;
r.redraw()}
const g=(aN.dataset?.filter);
if(!g)return;
a.filter={...a.filter,[g]:aN.value};
r.look();
r.redraw()};
const de=watchZoom(i,a,()=>a.shown,(aO)=>{if(aO)r.look();
r.redraw()});
const w=(o)=>{if(!i.contains((o.target)))return;
de.key(o);
pressed(o,i,bb,r)};
const bg=J.listen((D)=>{if(D.say==="taken"){clearTimeout(bM.get(D.id));
bM.delete(D.id);
aq(D.words??"")}else if(D.say==="found"&&D.id===a.id){a.found=D.found}else if(D.say==="history"&&D.id===a.id){r.recall(D)}
r.redraw()});
const cd=[watchSight(i,a,r.redraw),de.end];
i.addEventListener("click",cF);
i.addEventListener("input",c6);
const t=i.ownerDocument.defaultView;
t?.addEventListener("keydown",w,true);
return()=>{bg();
for(const az of cd)az();
for(const d3 of bM.values())clearTimeout(d3);
i.removeEventListener("click",cF);
i.removeEventListener("input",c6);
t?.removeEventListener("keydown",w,true)}}
function pressed(o,i,bb,r){const ba=(o.target);
if(o.key==="Escape"&&i.querySelector('[data-act="keep"]'))bb.keep({});
else if(o.key==="Escape"&&i.querySelector(".log"))bb["close-log"]({});
else if(ba.getAttribute("role")==="tab"){const tabs=([...i.querySelectorAll('[role="tab"]')]);
const u=tabs.indexOf(ba);
const cT={ArrowRight:u+1,ArrowLeft:u-1,Home:0,End:tabs.length-1}[o.key];
if(cT!==undefined){const R=tabs[(cT+tabs.length)%tabs.length];
bb.tab(R.dataset);
R.focus();
o.preventDefault()}}
if(o.key!=="Tab")o.stopPropagation();
r.redraw()}
function save(t,q){const bY=t.createElement("a");
bY.href=URL.createObjectURL(new Blob([q],{type:"application/json"}));
bY.download="nbaccel-trace.json";
bY.click();
setTimeout(()=>URL.revokeObjectURL(bY.href),1000)}
function kernelClock(da=()=>Date.now()/1000){let b8=0;
return{heard(bJ){b8=Math.max(b8,bJ-da())},now:()=>da()+b8}}
const SVG="http://www.w3.org/2000/svg";
const DRAWN=Symbol("drawn");
const UNIT=/(\d) (?=(?:s|min|h|%|°C|W|B|[KMGT]iB|[CGT]PUs?)(?!\w))/g;
function h(d1,bm={},...aS){const af=[];
for(const p of aS){if(!Array.isArray(p))p||p===""?af.push(p):null;
else for(const L of p)if(L||L==="")af.push(L)}
return{tag:d1,key:bm.key??"",props:bm,children:af}}
function draw(Y,aS){if(!fits(Y,aS))return arrange(Y,aS);
let e=Y.firstChild;
for(const p of aS){if(e)update(e,p,Y);
e=e?.nextSibling??null}}
function fits(Y,aS){let e=Y.firstChild;
for(const p of aS){if(!e||!isOf(e,p)||(typeof p!=="string"&&p.key!==keyOf(e)))return false;
e=e.nextSibling}
return!e}
function arrange(Y,aS){const bj=([...Y.childNodes]);
const keyed=new Map(bj.filter((e)=>keyOf(e)).map((e)=>[keyOf(e),e]));
const dP=bj.filter((e)=>!keyOf(e));
const cQ=new Set();
let place=Y.firstChild;
for(const p of aS){const e=matching(p,keyed,dP)??created(p,Y);
cQ.add(e);
update(e,p,Y);
if(e===place)place=place.nextSibling;
else Y.insertBefore(e,place)}
for(const e of bj)if(!cQ.has(e))e.remove()}
function keyOf(e){return(e)[DRAWN]?.key??""}
function isOf(e,p){return typeof p==="string"?e.nodeType===3:(e)[DRAWN]?.tag===p.tag}
function matching(p,keyed,aJ){if(typeof p!=="string"&&p.key){const e=keyed.get(p.key);
keyed.delete(p.key);
return e&&isOf(e,p)?e:undefined}
const v=aJ.findIndex((e)=>isOf(e,p));
return v<0?undefined:aJ.splice(0,v+1)[v]}
function created(p,Y){const t=Y.ownerDocument;
if(typeof p==="string")return t.createTextNode("");
const dC=p.tag==="svg"||Y.namespaceURI===SVG;
const Q=dC?t.createElementNS(SVG,p.tag):t.createElement(p.tag);
(Q)[DRAWN]={tag:p.tag,key:p.key,props:{},children:[]};
return Q}
function update(e,p,Y){if(typeof p==="string"){if((e)[DRAWN]?.text===p)return;
(e)[DRAWN]={text:p};
e.nodeValue=unbroken(p,Y);
return}
const Q=(e);
const ae=(Q)[DRAWN];
if(ae.shape===p)return;
const A=ae.props;
for(const g in A)if(!(g in p.props))set(Q,g,null);
for(const g in p.props)if(A[g]!==p.props[g])set(Q,g,p.props[g]);
if("value"in p.props&&(Q).value!==p.props.value)set(Q,"value",p.props.value);
ae.props=p.props;
ae.shape=p;
if(p.children.length||Q.firstChild)draw(Q,p.children)}
function unbroken(q,Y){return q.endsWith("\n")||["pre","code"].includes((Y)[DRAWN]?.tag)?q:q.replace(UNIT,"$1\u00a0")}
function set(Q,g,M){if(g==="key")return;
if(g==="value")(Q).value=M??"";
else if(M==null||M===false)Q.removeAttribute(g);
else if(g==="style")Q.setAttribute("style",M);
else Q.setAttribute(g,M===true?"":String(M))}
function table(bT,ag,rows,more={}){const dy=ag.map((be,v)=>head(typeof be==="string"?{name:be}:be,v,more.sort));
return h("div",{class:bT==="Devices"?"scroll whole":"scroll",key:bT,role:"region","aria-label":bT,tabindex:"0","data-sight":more.sight??null},h("table",{"aria-rowcount":more.rows&&more.rows+1},h("caption",{class:"unseen"},bT),h("thead",{},h("tr",{},dy)),h("tbody",{},rows)))}
function head({name:g,sort:bp},v,bI){if(!bp)return h("th",{scope:"col",key:g||`c${v}`},g||h("span",{class:"unseen"},"Actions"));
const bN=bI?.column!==bp?"none":bI.down?"descending":"ascending";
const dg={none:"",ascending:" ↑",descending:" ↓"}[bN];
return h("th",{scope:"col",key:g,"aria-sort":bN},h("button",{type:"button",class:"sorts","data-act":"sort","data-column":bp},g,h("span",{"aria-hidden":"true"},dg)))}
function nameOf(g){return h("span",{class:"name cut",title:g},g)}
function button(I,bm){return h("button",{type:"button",...bm},I)}
const VERBS={cancel:"Cancel",kill:"Kill",retry:"Retry"};
function endButton(aj,bP,I,a){const{id:z,name:g,owner:aA}=bP;
const aQ={"data-id":z,"data-name":g};
if(a.asked.has(z))return button("asked…",{...aQ,"aria-label":`${VERBS[aj]} ${g} ${I}`,disabled:true});
if(!aA)return button(VERBS[aj],{...aQ,"data-act":aj,"aria-label":`${VERBS[aj]} ${g} ${I}`});
if(a.doubted!==z){return button(`${VERBS[aj]}…`,{...aQ,"data-act":"doubt","data-owner":aA,"aria-label":`${VERBS[aj]} ${g} ${I} of ${aA}`})}
return h("span",{class:"ask nowrap"},button("Keep",{...aQ,"data-act":"keep","aria-label":`Keep ${g} of ${aA}`})," ",button(`${VERBS[aj]} it`,{...aQ,"data-act":aj,class:"urgent","aria-label":`${VERBS[aj]} ${g} of ${aA} all the same`}))}
function chip(q){return h("span",{class:"chip"},q)}
function empty(q,bd){return h("p",{class:"quiet empty",key:"empty"},q,bd&&" ",bd&&h("code",{},bd))}
function stateCell(sign,T,ar){const b1=ar!=null&&(T==="running"||T==="alive")?` ink c${ar}`:"";
return h("td",{class:`nowrap state ${T}`},h("span",{class:`sign${b1}`,"aria-hidden":"true"},sign),` ${T}`)}
function whereCell(F,a){const aA=F.startsWith("[")?"":F.replace(/ \[\d+\].*/,"");
const $=aA.length>24?[h("span",{class:"cut",title:aA},aA),F.slice(aA.length)]:[F];
return cell(F&&a.goes(F)?h("button",{type:"button",class:"goes","data-act":"go","data-cell":F,title:"Show the cell"},$):$,"nowrap where")}
function cell(a7,C){return h("td",C?{class:C}:{},a7)}
const MOST_CHARACTERS=200_000;
const MOST_LINES=2_000;
function withLog(A,s){const _=[{text:s.out.text,err:false},{text:s.err.text,err:true}].filter((dO)=>dO.text);
const gap=A&&(s.out.left_out||s.err.left_out)?[{text:"… too much was printed to show all of it …\n",err:true}]:[];
let a2=[...(A?.pieces??[]),...gap,..._];
let size=a2.reduce((aB,{text:q})=>aB+q.length,0);
while(size>MOST_CHARACTERS&&a2.length>1){size-=a2[0].text.length;
a2=a2.slice(1)}
return{pieces:a2,out:s.out.to,err:s.err.to,over:s.over,pid:s.pid?String(s.pid):"",done:s.over&&Boolean(A?.over)&&!_.length,failure:s.failure,yours:s.yours??"",note:s.note,left:A?.left||Boolean(s.out.left_out||s.err.left_out)}}
function logLines(a2){const Z=[];
const aI={false:null,true:null};
for(const{text:q,err:aY}of a2){const ad=q.split("\n");
ad.forEach((U,v)=>{const a_=aI[String(aY)]??{text:"",err:aY};
if(aI[String(aY)]===null&&(U||v<ad.length-1))Z.push(a_);
a_.text+=U;
aI[String(aY)]=v<ad.length-1?null:Z.includes(a_)?a_:null})}
return Z.map(({text:q,err:aY})=>({text:plain(q.replace(/\r+$/,"").split("\r").at(-1)?.replaceAll("\t","    ")),err:aY}))}
function logRow(a,ag){const av=a.log;
if(!av)return null;
const m=(a.past.task_log?.data??null);
return h("tr",{key:`log/${av.id}`,class:"logrow"},h("td",{colspan:ag},h("section",{class:"log","aria-label":`Log of ${av.name}`},logHead(av,m),...failureOf(m),printed(av,m))))}
function logHead(av,m){return h("div",{class:"line",key:"head"},h("strong",{},`Log of ${av.name}`),m?.pid&&h("span",{class:"quiet"},`all that its process has printed, pid ${m.pid}`),m&&!m.over&&h("span",{class:"chip"},"live"),h("label",{class:"aside quiet"},"Search ",h("input",{type:"search","data-search":"log",value:av.search,"aria-label":`Search the log of ${av.name}`})),button("Close",{"data-act":"close-log","aria-label":"Close the log"}))}
function failureOf(m){if(!m?.failure)return[];
const aD=h("pre",{tabindex:"0","aria-label":"The whole traceback"},m.failure);
if(!m.yours||m.yours===m.failure)return[h("div",{key:"failure",class:"failure"},aD)];
return[h("div",{key:"failure",class:"failure"},h("pre",{tabindex:"0","aria-label":"Your code in the traceback"},m.yours),h("details",{open:true},h("summary",{},"The whole traceback"),aD))]}
function printed(av,m){if(!m)return h("p",{class:"quiet",key:"none"},"Asking the kernel …");
const K=logLines(m.pieces);
const b4=av.search.trim().toLowerCase();
const at=b4?K.filter(({text:q})=>q.toLowerCase().includes(b4)):K;
const dK=m.note||(b4&&K.length?"No line has this text.":m.over?"It has printed nothing.":"It has printed nothing yet.");
const cU=[b4&&K.length&&`${at.length} of ${count(K.length,"line")}`,m.left&&"the beginning is only in %accel_logs",at.length>MOST_LINES&&`the last ${MOST_LINES} lines`].filter(Boolean);
return h("div",{key:"printed"},cU.length>0&&h("p",{class:"quiet",role:"status"},cU.join(" · ")),at.length?h("pre",{class:"printed",tabindex:"0","aria-label":"What it has printed"},at.slice(-MOST_LINES).map(({text:q,err:aY},v)=>h("span",{key:`l${v}`,class:aY?"err":null},`${q}\n`))):h("p",{class:"quiet"},dK))}
function followLog(i,a){const y=a.log?.follow&&i.querySelector(".printed");
if(y)y.scrollTop=y.scrollHeight}
const FIND_EVERY_MS=1000;
const FOUND_AT_FIRST=200;
const MOST_FOUND=1000;
function findKey({filter:E,wide:ea}){return E.state||E.cell||E.text.trim()?JSON.stringify([E,ea]):""}
function foundNow(a){const w=findKey(a);
return w&&a.found?.key===w?a.found:null}
function finder(J,a){let S=0;
let B="";
let aF;
const bt=()=>{clearTimeout(aF);
aF=undefined;
const w=a.details&&a.tab==="tasks"?findKey(a):"";
if(!w)return;
S=Date.now();
B=w;
J.send({say:"find",id:a.id,key:w,filter:a.filter,limit:a.wide?MOST_FOUND:FOUND_AT_FIRST})};
const du=()=>{if(findKey(a)!==B)bt();
else aF??=setTimeout(bt,Math.max(0,S+FIND_EVERY_MS-Date.now()))};
return{find:du,end:()=>clearTimeout(aF)}}
function laneName(f){return`${(f.node_id??"").slice(0,12)}/${f.resource}/${f.id}`}
const KEPT_S=120;
const LETTERS="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const MOST_DEVICES=128;
function hasLines(c){const X=c.devices??[];
return X.length<=MOST_DEVICES&&X.some((row)=>row.metrics)}
function withReadings(A,s){const P=A?.origin===s.origin&&A?.step===s.step_s?A:null;
const az=s.first+s.steps;
const ac=Math.max(az-Math.round(KEPT_S/s.step_s),P?P.first:s.first);
const Z=new Map();
s.devices.forEach((dr,v)=>{const g=s.prefix+dr;
const m=P?.lines.get(g);
const a_=(U,cv=1)=>Array.from({length:az-ac},(ed,u)=>{const cw=ac+u-s.first;
const bj=cw<0?m?.[U][ac+u-(P?.first??0)]:null;
if(cw<0)return bj==null?null:bj*cv;
const aT=LETTERS.indexOf(s[U][v*s.steps+cw]);
return aT<0?null:aT/(LETTERS.length-1)});
const K={utilisation:a_("utilisation"),memory:a_("memory"),power:a_("power",P?P.watts/s.power_watts:1)};
Z.set(g,K).set(g.slice(g.indexOf("/")),K)});
return{since:s.seq,origin:s.origin,step:s.step_s,first:ac,watts:s.power_watts,lines:Z}}
function linesOf(dS,row){return dS?.lines.get(laneName(row))??null}
function rowsQuestion(a,c){const cK=(z)=>a.past[`rows/${z}`]?.due??0;
const[bE]=(c.runs?.open(a)??[]).sort((N,G)=>cK(N)-cK(G));
return bE?{ask:"rows",key:`rows/${bE}`,record:bE}:null}
function placeOf({ask:bt,key:w}){return bt==="rows"?w:bt}
function withRows(A,s){const rows=new Map(A?.rows);
for(const[w,row]of Object.entries(s.rows))rows.set(w,row);
return{since:s.seq,total:s.total,rows}}
const LAST_MINUTE=60;
const WHOLE_RUN=0;
let views=0;
function newState(dn){views+=1;
return{id:`nbaccel-${views}-${Math.random().toString(36).slice(2,8)}`,details:dn,listed:false,tab:"devices",filter:{state:"",cell:"",text:""},sort:{column:"",down:false},held:null,order:[],open:new Set(),device:"",scrolled:{top:0,height:460,row:46},sights:new Map(),tiles:undefined,heldSight:"",only:"",wide:false,window:LAST_MINUTE,range:null,shown:{from:0,to:1},lanes:{width:1000,left:110,right:990},room:1000,hover:{bar:"",style:""},rows:new Map(),asked:new Set(),doubted:"",found:null,retries:false,goes:()=>false,said:"",log:null,notices:false,past:{}}}
const LEAST_PAUSE_MS=250;
const LATE_MS=10_000;
const MINUTES_TOLD=3;
function questionOf(a,c,k){const{engine:ce,pid:bl}=c.runtime;
const a6=`${ce} ${bl??""} ${c.nodes?.[0]?.node_id??""}`;
if(a.only)return rowsQuestion(a,c);
const r=a.details?a.tab:"devices";
if(r==="runs")return rowsQuestion(a,c);
if(r==="devices"&&hasLines(c))return{ask:"readings",key:a6};
if(r==="tasks"&&a.log){const[w,m]=[`${a6} ${a.log.id}`,a.past.task_log];
const q=m?.key===w?m.data:null;
return q?.done?null:{ask:"task_log",key:w,task_id:a.log.id,out_since:q?.out??0,err_since:q?.err??0}}
if(r==="accounting")return{ask:"accounting",key:a6};
if(r!=="timeline")return null;
if(a.range)return{ask:"runs",key:`${a6} ${a.range.from} ${a.range.to}`,start:a.range.from,end:a.range.to};
if(a.window===WHOLE_RUN)return{ask:"runs",key:`${a6} all`};
const m=a.past.runs;
const dT=m?.start&&m.key===`${a6} last`&&k-m.start<MINUTES_TOLD*LAST_MINUTE;
return{ask:"runs",key:`${a6} last`,start:dT?m.start:k-a.window}}
function historian(J,a,k){let S=0;
let aF;
let B=-LATE_MS;
const dG=()=>{if(Date.now()-B<LATE_MS)return;
B=Date.now();
J.send({say:"past"})};
let bz=true;
const aH=()=>{bz=true;
clearTimeout(aF);
const c=J.snapshot();
const aV=c&&!c.ended?questionOf(a,c,k()):null;
if(!aV)return;
if(!["readings","task_log","rows"].includes(aV.ask)&&!c?.past)return void dG();
const place=placeOf(aV);
const m=a.past[place];
const P=m?.key===aV.key&&m.start===aV.start;
const b7=Math.max(P?m.due:0,S+LEAST_PAUSE_MS)-Date.now();
if(b7>0)return void(aF=setTimeout(aH,b7));
S=Date.now();
const n=P||aV.ask==="runs"?(m?.data??null):null;
a.past[place]={key:aV.key,start:aV.start,due:S+LATE_MS,data:n};
J.send({say:"history",id:a.id,...aV,since:P?(n?.since??0):0})};
const bg=(D)=>{const bk=a.past[placeOf(D)];
if(bk?.key!==D.key)return;
const s=JSON.parse(D.answer);
const ay={readings:withReadings,task_log:withLog,rows:withRows}[(D.ask)]??J.snapshot()?.past?.told[D.ask];
if(ay)bk.data=ay(bk.data,s);
bk.due=Date.now()+1000*s.pause_s;
const dw=D.ask==="task_log"||(D.ask==="rows"&&!s.pause_s);
if(dw&&bz)aH()};
const az=()=>{bz=false;
clearTimeout(aF)};
return{look:aH,heard:bg,end:az}}
const GROUPS=8;
function heldWords({heldBy,devicesFree:cI,devicesTaken:bv,ended:ai}){if(ai)return[];
const a1=heldBy.slice(0,GROUPS).map(({name:g,number:l,colour:ar},u)=>[u>0&&", ",h("span",{key:g,class:"nowrap"},h("span",{class:`swatch c${ar}`,"aria-hidden":"true"}),` ${g}${l>1?` × ${l}`:""}`)]).flat();
const more=heldBy.length>GROUPS&&` and ${heldBy.length-GROUPS} more`;
const aJ=[cI&&`${cI} free`,bv&&`${bv} taken by others`].filter(Boolean).map((F)=>` · ${F}`).join("");
return[a1.length?"Held by ":"Nobody holds one",...a1,more,aJ]}
function shareBar({heldBy,deviceTotal:al,devicesTaken:bv}){const U=(C,a9)=>h("span",{key:C,class:`part ${C}`,style:`width:${Math.round(1000*a9/al)/10}%`});
return h("span",{class:"bar","aria-hidden":"true"},heldBy.map(({colour:ar,share:a9})=>U(`c${ar}`,a9)),bv>0&&U("taken",bv))}
const PALETTE={hues:[["#1575c3","#207cca","#056ebb"],["#99612a","#a06731","#a76e38"],["#149599","#229da0","#2da4a7"],["#b74977","#be507e","#c65785"],["#978d17","#9e9423","#908606"],["#9082f1","#897be9","#8274e1"],["#6aa173","#639a6d","#5c9366"],["#c27bc6","#bb74bf","#b36db8"]],failure:"#ec1c24",attention:"#c77700",waiting:"#808080",grounds:["#ffffff","#212121"]};
const HUES=PALETTE.hues.length;
const SHADES=PALETTE.hues[0].length;
function numberOf(q){let bU=2166136261;
for(let cg=0;cg<q.length;cg++)bU=Math.imul(bU^q.charCodeAt(cg),16777619);
return(bU^(bU>>>15))>>>0}
function colourOf(c,aW,z){const dB=c.hues?.[aW]??numberOf(aW)%HUES;
return dB*SHADES+(z?numberOf(z)%SHADES:0)}
function subjectOf(row){const aD=row.function||row.name;
return(row.kind??"task")==="task"?aD:aD.split(".",1)[0]}
function inkOn(ar){const[dR,dv,G]=[1,3,5].map((u)=>parseInt(ar.slice(u,u+2),16)/255).map((U)=>(U<=0.03928?U/12.92:((U+0.055)/1.055)**2.4));
return 0.2126*dR+0.7152*dv+0.0722*G>0.179?"#000":"#fff"}
function colourRules(dX){return PALETTE.hues.flat().map((ar,l)=>`${dX} .c${l}{background:${ar};fill:${ar};--c:${ar};--on:${inkOn(ar)}}`).join("\n")}
const STATES=["running","waiting","failed","cancelled","finished"];
function taskCounts(c){const H=Object.fromEntries(STATES.map((a)=>[a,0]));
for(const[a,l]of Object.entries(c.counts??{})){const T=stateWord(a);
H[T]=(H[T]??0)+l}
return H}
function waitingViews(c,k){return(c.tasks??[]).filter((row)=>stateWord(row.state)==="waiting").sort((N,G)=>(N.submitted_at??0)-(G.submitted_at??0)).map((row)=>taskView(row,c,k))}
function taskViews(c,E,k){const q=E.text.trim().toLowerCase();
const rows=(c.tasks??[]).filter((row)=>passes(row,c,E,q));
return rows.map((row)=>taskView(row,c,k))}
function passes(row,c,E,q){if(E.state&&stateWord(row.state)!==E.state)return false;
if(E.cell&&cellOf(row,c)!==E.cell)return false;
if(!q)return true;
return[row.name,taskName(row.name),row.task_id,row.cell,whyOf(row,c),deviceWords(row.device_ids)].some((L)=>(L??"").toLowerCase().includes(q))}
function cellOf(row,c){return row.cell?cellWords(c,{job:row.job,cell:row.cell.split(" ")[0]}):""}
function cellsOf(c){const l=(cell)=>Number(/\[(\d+)\]$/.exec(cell)?.[1]??0);
const b1=(cell)=>(cell.startsWith("[")?0:1);
const dh=new Set((c.tasks??[]).map((row)=>cellOf(row,c)).filter(Boolean));
return[...dh].sort((N,G)=>b1(N)-b1(G)||l(N)-l(G))}
function whyOf(row,c){return row.reason==null?(row.why??""):(c.reasons?.[row.reason]??"")}
function withoutSubject(aX,row){const g=plain(row.name).replace(/\.__init__$/,"");
const cell=plain(row.cell);
if(!aX.startsWith(g))return aX;
let ap=aX.slice(g.length+1);
if(cell&&ap.startsWith(`(cell ${cell}`))ap=ap.slice(ap.indexOf(") ")+2);
if(ap.startsWith("waits for "))return ap.includes(". ")?ap.slice(ap.indexOf(". ")+2):ap;
return ap.startsWith("asks ")?ap:aX}
function taskView(row,c,k){const a=stateWord(row.state);
const c$=a==="waiting"?row.submitted_at:(row.started_at??row.submitted_at);
const aK=ENDED.has(row.state);
return{id:row.task_id,short:shortId(row.task_id),name:taskName(row.name),sign:stateSign(a),state:a,devices:deviceWords(row.device_ids),pid:row.pid?String(row.pid):"",cell:cellWords(c,row),owner:ownerOf(c,row),age:c$==null?"":age((row.finished_at??k)-c$),started:row.started_at==null?"":clock(row.started_at,k),took:tookWords(row,a,k),subject:plain(subjectOf(row)),colour:colourOf(c,subjectOf(row),row.actor_id||row.task_id),keys:{submitted:row.submitted_at??0,started:row.started_at??Infinity,took:row.started_at==null?-1:(row.finished_at??k)-row.started_at},peak:row.peak_memory_bytes==null?"":size(row.peak_memory_bytes),why:[row.retry_of&&`retry of #${shortId(row.retry_of)}`,row.choice?`runs as ${plain(row.choice)}`:"",withoutSubject(plain(whyOf(row,c)),row)].filter(Boolean).join(": "),retryable:Boolean(row.retryable),asks:Object.keys(row.demand??{}).length?demandWords(row.demand):"",cancellable:!aK&&row.state!=="ENDED_WITH_IT"}}
function tookWords(row,a,k){if(a==="waiting")return row.submitted_at==null?"":`waits ${age(k-row.submitted_at)}`;
if(row.started_at==null)return"";
const ax=(row.finished_at??k)-row.started_at;
if(row.finished_at!=null)return duration(ax);
const[ah,W]=row.progress??[0,0];
if(!W)return age(ax);
const aG=ah>0&&ah<W?`${age((ax*(W-ah))/ah)} left`:"";
return[age(ax),`${Math.round((100*ah)/W)} %`,aG].filter(Boolean).join(" · ")}
function actorViews(c,k){return(c.actors??[]).map((row)=>actorView(row,c,k))}
function actorView(row,c,k){const a=row.state==="PENDING_CREATION"?"waiting":stateWord(row.state);
return{id:row.actor_id,name:plain(row.class_name)+(row.name?` “${plain(row.name)}”`:""),sign:stateSign(a),state:a,devices:deviceWords(row.device_ids),pid:row.pid?String(row.pid):"",cell:cellWords(c,row),owner:ownerOf(c,row),age:row.since==null?"":age(k-row.since),colour:colourOf(c,row.class_name,row.actor_id),calls:row.pending_calls?String(row.pending_calls):"",why:[row.restarts?`restarted ${row.restarts} ×`:"",plain(row.why)].filter(Boolean).join(" · "),alive:row.state!=="DEAD"}}
const MOST_OF_ONE=8;
const ORDER=["running","failed","waiting","cancelled","finished"];
const OVERSCAN=12;
const KEYS={task:(d)=>`${d.name}\n${d.short}`,state:(d)=>place(d.state),devices:(d)=>d.devices||"~",started:(d)=>d.keys.started,took:(d)=>d.keys.took};
function place(a){const u=ORDER.indexOf(a);
return u<0?ORDER.length:u}
function ordered(V,bp,au){const w=KEYS[bp.column];
const c9=(N,G)=>place(N.state)-place(G.state)||G.keys.submitted-N.keys.submitted;
const dk=(N,G)=>{if(!w)return c9(N,G);
const[cW,cY]=[w(N),w(G)];
const bN=cW<cY?-1:cW>cY?1:0;
return(bp.down?-bN:bN)||c9(N,G)};
const bI=[...V].sort(dk);
if(!au)return bI;
const A=new Map(au.map((z,v)=>[z,v]));
return bI.sort((N,G)=>(A.get(N.id)??au.length)-(A.get(G.id)??au.length))}
function grouped(V,aI){const ca=new Map();
for(const d of V){const P=ca.get(d.subject);
if(P)P.push(d);
else ca.set(d.subject,[d])}
const rows=[];
for(const d of V){const P=ca.get(d.subject)??[];
if(P.length<=MOST_OF_ONE)rows.push({task:d,inGroup:false});
else if(P[0]===d)rows.push(...groupRows(P,aI.has(d.subject)))}
return rows}
function groupRows(V,aI){const H=new Map();
for(const d of V)H.set(d.state,(H.get(d.state)??0)+1);
const ah=H.get("finished")??0;
const aJ=STATES.filter((a)=>a!=="finished"&&H.get(a)).map((a)=>`${H.get(a)} ${a}`);
const an={subject:V[0].subject,tasks:V,open:aI,done:ah,failed:H.get("failed")??0,others:aJ};
return[{group:an},...(aI?V.map((d)=>({task:d,inGroup:true})):[])]}
function alike(waiting){const bw=new Map();
for(const d of waiting){const w=`${d.name}\n${d.why}\n${d.asks}`;
const an=bw.get(w)??{task:d,number:0,ids:[]};
an.number+=1;
an.ids.push(d.id);
bw.set(w,an)}
return[...bw.values()].sort((N,G)=>G.number-N.number)}
function inSight(l,aL){const bG=Math.ceil(aL.height/aL.row)+2*OVERSCAN;
const ac=Math.max(0,Math.min(Math.floor(aL.top/aL.row)-OVERSCAN,l-bG));
return{first:ac,last:Math.min(l,ac+bG)}}
const MOST_CHIPS=8;
const NAMED_IN_FULL=4;
function drawCard(b,a){return[h("div",{key:"strip",class:"one-line strip",role:"group","aria-label":"Devices"},strip(b)),h("div",{key:"most",class:"one-line most"},mostUrgent(b,a))]}
function strip(b){const{deviceTotal:al,devices:X,ended:ai}=b;
if(!al)return h("span",{class:"has quiet",title:[...b.found,"nbaccel.init(num_gpus=2)"].join(" ")},["No accelerator.",...b.found,"This counts two logical ones: "].join(" "),h("code",{},"nbaccel.init(num_gpus=2)"));
if(ai)return h("span",{class:"has quiet"},`It had ${al} × ${b.sameModel||al===1?[X[0].model,X[0].mark&&`(${X[0].mark})`].filter(Boolean).join(" "):"devices"}.`);
if(al>MOST_CHIPS)return[shareBar(b),h("span",{class:"has",title:b.heldBy.map(({name:g,number:l})=>`${g} × ${l}`).join(", ")},heldWords(b))];
return X.map((f)=>deviceChip(f,al))}
function deviceChip(f,W){const{label:I,holders,state:a,reason:bn}=f;
const _=holders.map(({name:g,part:U,cell,owner:aA,age})=>[g,...[U,[cell&&`cell ${cell}`,aA].filter(Boolean).join(" of "),age].filter(Boolean)].join(" · "));
const au=holders.map((j,u)=>[u>0&&", ",h("span",{key:j.key,class:"name"},j.name),h("span",{class:"quiet"},_[u].slice(j.name.length))]).flat();
return h("span",{key:f.key,class:W>NAMED_IN_FULL?"device many":"device","data-device":I,title:[I,...(holders.length?_:[bn||a])].join(", ")},h("span",{class:"label"},W>NAMED_IN_FULL?I.replace(/^\S+ /,""):I),h("span",{class:"bar","aria-hidden":"true"},holders.map((j)=>h("span",{class:`part c${j.colour}`,style:`width:${100*j.fraction}%`})),!holders.length&&bn&&h("span",{class:"part taken"})),h("span",{class:"has"},holders.length?au:h("span",{class:"quiet"},bn?`${a}: ${bn}`:a)))}
function mostUrgent(b,a){const{alerts:aM,nodes:dJ,ended:ai}=b;
const O=aM.find(({kind:C})=>C==="failed")??aM[0];
if(O){const more=aM.length>1&&button(`and ${aM.length-1} more`,{"data-act":"tab","data-tab":"alerts"});
return[h("span",{class:"has alert",title:O.message},h("strong",{},"⚠ Attention:"),` ${O.message}`),more]}
const[an]=ai?[]:alike(b.waiting);
if(an)return waits(an,b.counts.waiting-an.number);
const c4=b.runs?.brief(a)??[];
if(c4.length)return c4.slice(0,2);
const a0=dJ.find(({moves:dH})=>dH);
if(a0)return h("span",{class:"has",title:a0.why},h("span",{class:"sign","aria-hidden":"true"},`${a0.sign} `),nameOf(a0.name),` ${a0.state} `,h("span",{class:"quiet"},a0.why));
if(ai)return h("span",{class:"quiet"},b.endedAt);
if(b.taskTotal)return h("span",{class:"quiet"},"Nothing waits, and nothing needs attention.");
return h("span",{class:"has quiet",title:"f.remote()"},"No task yet. A call makes one: ",h("code",{},"f.remote()"))}
function waits({task:d,number:l},aJ){const aX=d.why||d.asks;
return[h("span",{class:"has",title:aX},h("span",{class:"sign","aria-hidden":"true"},"◌ "),l>1&&`× ${l} `,nameOf(d.name),` waits ${d.age}: `,h("span",{class:"quiet"},aX)),aJ>0&&button(`and ${aJ} more`,{"data-act":"tab","data-tab":"waiting"})]}
const HEIGHT=16;
function shape(ao,am=false){const b3=ao.map((aT,u)=>(aT==null?null:`${u} ${Math.round(10*(HEIGHT-1-aT*(HEIGHT-2)))/10}`));
let cr="";
let aR=-1;
b3.forEach((b2,u)=>{if(b2!=null)cr+=(b3[u-1]==null?"M":"L")+b2;
if(b2!=null&&b3[u-1]==null)aR=u;
if(b2!=null&&b3[u+1]==null&&am)cr+=`L${u} ${HEIGHT}L${aR} ${HEIGHT}Z`});
return cr}
function spark(Z,bm={}){const d0=Math.max(2,...Z.map(({levels:ao})=>ao.length));
return h("svg",{class:"spark",viewBox:`0 0 ${d0-1} ${HEIGHT}`,preserveAspectRatio:"none","aria-hidden":"true",...bm},Z.map(({levels:ao,kind:C})=>[C==="area"&&h("path",{key:"under",class:"under",d:shape(ao,true)}),h("path",{key:C,class:C,d:shape(ao)})]).flat())}
function between(ao){const m=(ao??[]).filter((aT)=>aT!=null);
const aU=(aT)=>`${Math.round(100*aT)} %`;
return m.length>1?`between ${aU(Math.min(...m))} and ${aU(Math.max(...m))} in the last two minutes`:""}
const GAP_PX=4;
function drawTiles(b,a){const{devices:X,devicesBefore:cc,deviceTotal:al}=b;
const inSight=X.length<al?a.tiles??{row:40,columns:20}:null;
const Z=(l)=>Math.ceil(l/(inSight?.columns??1))*(inSight?.row??0);
const cR=X.some((f)=>f.lines);
const list=h("ul",{class:cR?"tiles lined":"tiles","aria-label":"Devices"},emptyLines("above",Z(cc)),X.map((f,v)=>knownTile(f,inSight?cc+v+1:0,al,a)),emptyLines("below",Z(al)-Z(cc+X.length)));
return h("div",{key:"tiles"},inSight?h("div",{class:"scroll of-tiles",role:"region",tabindex:"0","aria-label":`${al} devices`},list):list,h("p",{class:"quiet small",key:"holders"},heldWords(b),cR&&" · Lines: load (filled), memory and power (dotted) of the last two minutes."),cardOf(X.find((f)=>f.key===a.hover.bar),a))}
function emptyLines(bO,aE){return aE>GAP_PX&&h("li",{key:bO,class:"gap","aria-hidden":"true",style:`height:${aE-GAP_PX}px`})}
function cardOf(f,a){if(!f)return null;
const{node:e,label:I,model:x,holders,utilisation,memory,facts,reason:bn}=f;
const au=holders.map((j)=>h("div",{key:j.key},h("span",{class:`swatch c${j.colour}`}),h("strong",{},j.name)," ",[j.part,j.cell&&`cell ${j.cell}`,j.owner,j.age].filter(Boolean).join(" · ")));
return h("div",{class:"hover",key:"hover",style:a.hover.style,"aria-hidden":"true"},h("strong",{},[e,I].filter(Boolean).join(" ")),` ${f.state}`,au,h("div",{class:"quiet small"},[utilisation?.text,memory?.text,facts,between(f.lines?.utilisation),bn].filter(Boolean).join(" · ")||x))}
function knownTile(f,place,W,a){const ak=f.key===a.device;
const F=tileWords(f);
const a7=[F,ak,place,f.holders.map((j)=>`${j.colour}/${j.fraction}`)].join("\n");
const m=a.rows.get(`tile ${f.key}`);
if(m?.content===a7&&m.of===f.lines)return m.shape;
const shape=tile(f,F,ak,place?{"aria-posinset":place,"aria-setsize":W}:{});
a.rows.set(`tile ${f.key}`,{content:a7,shape,of:f.lines});
return shape}
function tile(f,F,ak,cs){const l=f.label.replace(/^\S+ /,"");
const ad=f.holders.map((j)=>h("span",{class:`part c${j.colour}`,style:`width:${100*j.fraction}%`}));
return h("li",{key:f.key,...cs},h("button",{type:"button",class:"tile","data-act":"tile","data-device":f.key,"data-bar":f.key,"aria-expanded":String(ak),"aria-label":F},h("span",{class:"number"},l),f.utilisation&&h("span",{class:"load quiet"},f.utilisation.text),h("span",{class:"bar"},ad.length||!f.reason?ad:h("span",{class:"part taken"})),f.lines&&spark(linesIn(f.lines))))}
function linesIn({utilisation,memory,power}){return[{levels:utilisation,kind:"area"},{levels:memory,kind:"line"},{levels:power,kind:"dots"}]}
function tileWords(f){const holders=f.holders.map((j)=>[j.name,j.part,j.cell&&`cell ${j.cell}`,j.owner].filter(Boolean).join(" "));
const facts=[f.utilisation?.text,f.memory?.text,f.facts,between(f.lines?.utilisation),f.reason].filter(Boolean);
return`${[f.node,f.label].filter(Boolean).join(" ")}, ${f.state}${holders.length?`: ${holders.join("; ")}`:""}${facts.map((ds)=>`, ${ds}`).join("")}`}
const MOST_ROWS=8;
function drawDevices(b,a){if(!b.deviceTotal){return[empty(["No accelerator.",...b.found,"This counts two logical ones:"].join(" "),"nbaccel.init(num_gpus=2)")]}
if(b.deviceTotal<=MOST_ROWS)return[models(b),rows(b.devices,b,a)];
return[models(b),drawTiles(b,a),b.chosenDevice&&rows([b.chosenDevice],b,a)]}
function models({sameModel:dW,deviceTotal:al,devices:X}){if(!dW)return null;
const[{model:x,mark:bZ}]=X;
return h("p",{class:"quiet small models",key:"models"},`${al} × ${x} `,bZ&&chip(bZ))}
function rows(X,b,a){const b_=X.some((f)=>f.utilisation||f.memory);
const bo=X.some((f)=>f.node);
const _=b.sameModel;
const ag=["Device",...(bo?["Node"]:[]),b.ended?"State":"In use",...(b_?["Load, memory, power"]:[]),...(b.ended?[]:["Held by"])];
return table("Devices",ag,X.map((f)=>row(f,{several:bo,measured:b_,said:_},b,a)))}
function row(f,{several:bo,measured:b_,said:_},b,a){return h("tr",{key:f.key,"data-device":f.label},h("th",{scope:"row",title:f.title||null},h("span",{class:"label"},f.label),!_&&f.mark&&chip(f.mark),!_&&h("span",{class:"quiet small model"},f.model)),bo&&h("td",{class:"quiet"},f.node),h("td",{class:"use"},!b.ended&&useBar(f),h("span",{class:"nowrap"},h("span",{class:"sign","aria-hidden":"true"},f.sign),` ${f.state}`)),b_&&h("td",{class:"load",title:f.facts},meter("utilisation",f,f.utilisation),meter("memory",f,f.memory),f.power&&meter("power",f,f.power)),!b.ended&&h("td",{class:"holders"},holders(f,b,a)))}
function useBar(f){const ad=f.holders.map((j)=>h("span",{key:j.key,class:`part c${j.colour}`,style:`width:${100*j.fraction}%`}));
return h("div",{class:"bar",role:"img","aria-label":`${f.label}: ${f.use}`,title:f.use},ad.length||!f.reason?ad:h("span",{class:"part taken"}))}
function meter(bs,f,M){if(!M)return h("div",{class:"measure quiet small"},`${bs} unknown`);
const aU=Math.min(100,Math.max(0,Math.round(M.percent)));
const g=`${f.label} ${bs}`;
const ao=f.lines?.[bs];
const _={title:[bs,between(ao)].filter(Boolean).join(": ")};
const ae=ao?spark([{levels:ao,kind:"area"}]):h("span",{class:"part",style:`width:${aU}%`});
const cv=bs==="power"?{role:"img","aria-label":`${g} ${M.text}`}:{role:"meter","aria-label":g,"aria-valuemin":"0","aria-valuemax":"100","aria-valuenow":aU,"aria-valuetext":M.text};
return h("div",{class:"measure",..._},bs==="power"&&!ao?null:h("div",{class:ao?"trend":"bar",...cv},ae),h("span",{class:"small"},M.text))}
function holders(f,b,a){const list=f.holders.map((j)=>holderLine(j,f,b,a));
return[list.length>0&&h("ul",{},list),f.reason&&h("span",{class:"quiet"},f.reason)]}
function holderLine(j,f,b,a){const bO=[j.cell&&`cell ${j.cell}`,j.owner].filter(Boolean).join(" of ");
const facts=[j.part,bO,j.age].filter(Boolean).join(" · ");
return h("li",{key:j.key,title:j.pid},h("span",{class:`swatch c${j.colour}`,"aria-hidden":"true"}),h("span",{class:"who"},nameOf(j.name),h("span",{class:"quiet facts"},facts)),(j.taskId||j.actorId)&&stop(j,f,a))}
function stop(j,f,a){const aj=j.taskId?"cancel":"kill";
return endButton(aj,{id:j.taskId||j.actorId,name:j.name,owner:j.owner},`on ${f.label}`,a)}
const WAITING_SHOWN=3;
const ALERTS_SHOWN=2;
function drawListed(b,a){const aM=[...b.alerts].sort((N,G)=>Number(G.kind==="failed")-Number(N.kind==="failed")).slice(0,ALERTS_SHOWN);
const ay=new Set(aM.map((O)=>O.never));
const a0=b.nodes.filter((e)=>e.moves).map((e)=>h("li",{key:e.key},sign(e.sign),nameOf(e.name),` ${e.state} `,h("span",{class:"quiet"},e.why)));
const _=aM.map((O)=>h("li",{key:O.key},h("strong",{},"⚠ Attention:"),` ${O.message}`));
return[...drawDevices(b,a),...(b.runs?.brief(a)??[]),list("lines","Nodes that come and go",a0),list("lines","Waiting tasks",b.ended?[]:waiting(b,ay)),list("alerts","Alerts",[..._,...more(b.alerts.length-_.length,"alerts")])]}
function waiting(b,ay){const K=alike(b.waiting);
const c8=K.filter(({ids:bh})=>!bh.some((z)=>ay.has(z)));
const $=c8.slice(0,WAITING_SHOWN);
const Z=$.map(({task:d,number:l})=>h("li",{key:d.id},sign("◌"),l>1&&`× ${l} `,nameOf(d.name),` waits ${d.age}: `,h("span",{class:"quiet"},d.why||d.asks)));
const m=K.filter((an)=>!c8.includes(an)||$.includes(an));
return[...Z,...more(b.counts.waiting-m.reduce((aB,{number:l})=>aB+l,0),"waiting")]}
function sign(bZ){return h("span",{class:"sign","aria-hidden":"true"},`${bZ} `)}
function more(l,R){return l>0?[h("li",{key:"more"},button(`and ${l} more`,{"data-act":"tab","data-tab":R}))]:[]}
function list(C,I,Z){return Z.length>0&&h("ul",{class:C,key:I,"aria-label":I},Z)}
function cancelMany(I,z,E,co,a){const bP=co?` ${co}`:"";
const aQ={key:z,"data-id":z,"data-name":I+bP,"data-function":co,"data-state":E.state,"data-cell":E.cell,"data-text":E.text};
if(a.doubted!==z)return button(`${I}…`,{...aQ,"data-act":"sure","aria-label":`${I}${bP}…`});
return h("span",{class:"ask nowrap",key:z},button("Keep",{...aQ,key:"keep","data-act":"keep"})," ",button(I,{...aQ,key:"do","data-act":"cancel-many",class:"urgent","aria-label":I+bP}))}
function drawWaiting(b,a){if(!b.counts.waiting)return[empty("Nothing waits. A task that finds no free device waits here, with the reason:","train.options(num_gpus=1).remote()")];
const bw=alike(b.waiting);
const rows=bw.map(({task:d,number:l})=>h("tr",{key:d.id,"data-task":d.id},nameCell(d,l),cell(d.asks,"nowrap"),whereCell(d.cell,a),cell(d.age,"short"),cell(d.why||h("span",{class:"quiet"},"asked for, not looked at yet"),"why"),cell(l>1?showAll(d,l):cancel(d,b,a),"acts")));
const more=b.counts.waiting-b.waiting.length;
return[rows.length>0&&table("Waiting tasks",["Task","Asks for","Cell","For","Why it waits",""],rows),more>0&&moreLine(`and ${more} more that wait`,a),b.counts.waiting>1&&!b.ended&&h("p",{key:"all"},cancelMany("Cancel all that wait","waiting",{state:"waiting",cell:"",text:""},"",a))]}
function showAll(d,l){return button(`Show all ${l}`,{"data-act":"count","data-state":"waiting","data-text":d.name,"aria-label":`Show all ${l} ${d.name} that wait`})}
function nameCell(d,l){return h("th",{scope:"row"},nameOf(d.name),h("span",{class:"quiet small below"},l>1?`× ${l}`:`#${d.short}`))}
function cancel(d,b,a){if(!d.cancellable||b.ended)return null;
return endButton("cancel",d,`#${d.short}`,a)}
function moreLine(q,a){return h("p",{class:"more",key:"unsent"},h("span",{class:"quiet"},`${q} `),!a.wide&&button("Show more",{"data-act":"ask-more"}))}
function drawActors(b,a){if(!b.actors.length)return[empty("No actor. A remote class that is called makes one:","Counter.remote()")];
const rows=b.actors.map((aa)=>h("tr",{key:aa.id,"data-actor":aa.id},h("th",{scope:"row"},nameOf(aa.name),h("span",{class:"quiet small below"},[`#${aa.id.slice(0,8)}`,aa.pid&&`pid ${aa.pid}`].filter(Boolean).join(" · "))),stateCell(aa.sign,aa.state,aa.colour),cell(aa.devices,"nowrap"),whereCell(aa.cell,a),cell(aa.age,"short"),h("td",{"data-head":"calls waiting"},aa.calls),cell(aa.why,"why"),cell(aa.alive&&!b.ended&&endButton("kill",aa,`#${aa.id.slice(0,8)}`,a),"acts")));
return[table("Actors",["Actor","State","Devices","Cell","Age","Calls waiting","Why",""],rows),b.actorsMore>0&&h("p",{class:"quiet more",key:"more"},`and ${b.actorsMore} more actors`)]}
function drawAlerts(b){if(!b.alerts.length)return[empty("No alert. Failures, leaks, lost devices and requests that can never be met are told here, such as:","f.options(num_gpus=1000).remote()")];
return[h("ul",{class:"alerts",key:"alerts"},b.alerts.map((O)=>h("li",{key:O.key},h("strong",{},h("span",{"aria-hidden":"true"},"⚠ "),O.title),` ${O.message}`,h("span",{class:"quiet"},` · ${O.age} ago`))))]}
function drawNodes(b){const rows=b.nodes.map((e)=>h("tr",{key:e.key},h("th",{scope:"row"},h("span",{class:"name"},e.name)),stateCell(e.sign,e.state),cell(e.role),cell(e.resources),cell(e.why,"why")));
return[table("Nodes",["Node","State","Role","Resources","Why"],rows)]}
function drawTasks(b,a){const am={peak:b.tasks.some((d)=>d.peak),why:b.tasks.some((d)=>d.why)};
a.order=b.tasks.map((d)=>d.id);
const rows=a.sort.column?b.tasks.map((d)=>({task:d,inGroup:false})):grouped(b.tasks,a.open);
const dA=b.tasksFound-b.tasks.length;
const d7=b.foundInAll?dA:b.taskTotal-b.taskRows;
return[filters(b,a),rows.length?tableOf(rows,am,b,a):nothingFound(b),d7>0&&moreLine(`${b.tasks.length} of ${b.foundInAll?b.tasksFound:b.taskTotal} tasks are here`,a)]}
function tableOf(rows,am,b,a){const ag=[{name:"Task",sort:"task"},{name:"State",sort:"state"},{name:"Devices",sort:"devices"},"Cell",{name:"Started",sort:"started"},{name:"Took",sort:"took"},...(am.peak?["Peak"]:[]),...(am.why?["Why"]:[]),""];
const{first:ac,last:S}=inSight(rows.length,a.scrolled);
const ae=rows.slice(ac,S).flatMap((row)=>{if("group"in row)return[groupRow(row.group,ag.length,b,a)];
const shape=knownRow(row.task,row.inGroup,am,b,a);
return a.log?.id===row.task.id?[shape,logRow(a,ag.length)]:[shape]});
const{row}=a.scrolled;
return table("Tasks",ag,[gap("above",ac*row),...ae,gap("below",(rows.length-S)*row)].filter(Boolean),{rows:rows.length,sort:a.sort})}
function gap(bO,aE){return aE>0&&h("tr",{key:bO,class:"gap","aria-hidden":"true",style:`height:${Math.round(aE)}px`})}
function nothingFound(b){if(!b.taskTotal)return empty("No task yet. A remote function that is called makes one:","f.remote()");
return empty(b.foundInAll?"No task passes the filter.":"No task of these rows passes the filter.")}
function groupRow(an,ag,b,a){const{subject:aW,tasks:V,open:aI,done:ah,failed:dt,others:aJ}=an;
const cq=b.taskTotal>b.taskRows&&!b.foundInAll;
const U=(C,l)=>l>0&&h("span",{key:C,class:`part ${C}`,style:`width:${(100*l)/V.length}%`});
const F=[...(cq?[]:[`${ah} of ${V.length}`]),...aJ,...(cq?["others are not here"]:[])];
return h("tr",{key:`group/${aW}`,class:"group","data-function":aW},h("th",{scope:"row",colspan:ag},h("button",{type:"button",class:"opens","data-act":"group","data-function":aW,"aria-expanded":String(aI)},h("span",{"aria-hidden":"true"},aI?"▾ ":"▸ "),nameOf(aW)),!cq&&h("span",{class:"bar","aria-hidden":"true"},U(`c${V[0].colour}`,ah),U("failed",dt)),h("span",{class:"quiet"},F.map((L,u)=>[u>0&&" · ",L.endsWith(" failed")?h("span",{key:L,class:"state failed"},L):L]).flat()),!b.ended&&V.some((d)=>d.cancellable)&&cancelMany("Cancel all",`group/${aW}`,a.filter,aW,a)))}
function knownRow(d,bV,am,b,a){const a7=[...Object.values(d),bV,am.peak,am.why,b.ended,a.asked.has(d.id),a.doubted===d.id,a.log?.id===d.id].join("\n");
const m=a.rows.get(d.id);
if(m?.content===a7)return m.shape;
const shape=taskRow(d,bV,am,b,a);
a.rows.set(d.id,{content:a7,shape});
return shape}
function taskRow(d,bV,am,b,a){const b9=[`#${d.short}`,d.pid&&`pid ${d.pid}`].filter(Boolean).join(" · ");
return h("tr",{key:d.id,"data-task":d.id,class:bV?"inner":null},h("th",{scope:"row"},nameOf(d.name),h("span",{class:"quiet small below"},b9)),stateCell(d.sign,d.state,d.colour),cell(d.devices||d.asks,d.devices?"nowrap":"quiet nowrap"),whereCell(d.cell,a),cell(d.started,"nowrap"),tookCell(d.took),am.peak&&cell(d.peak,"nowrap"),am.why&&cell(d.why&&h("span",{class:"two-lines",title:d.why},d.why),d.why?"why":""),cell([cancel(d,b,a),d.retryable&&a.retries&&!b.ended&&endButton("retry",d,`#${d.short}`,a),logs(d,b,a)],"acts"))}
function tookCell(d4){const[bJ,...cM]=d4.split(" · ");
return cell([bJ,cM.length>0&&[" ",h("span",{class:"quiet small below"},cM.join(" · "))]].flat(),"short")}
function logs(d,b,a){if(d.state==="waiting"||b.ended)return null;
return button("Log",{"data-act":"logs","data-id":d.id,"data-name":d.name,"aria-expanded":String(a.log?.id===d.id),"aria-label":`Log of ${d.name} #${d.short}`})}
function filters(b,a){const{filter:E}=a;
const b0=(M,I,ak)=>h("option",{key:M||"all",value:M,selected:M===ak},I);
return h("div",{class:"filters",role:"group","aria-label":"Filter tasks",key:"filters"},h("label",{},"State ",h("select",{"data-filter":"state",value:E.state},b0("","all",E.state),STATES.map((T)=>b0(T,`${T} (${b.counts[T]??0})`,E.state)))),h("label",{},"Cell ",h("select",{"data-filter":"cell",value:E.cell},b0("","all",E.cell),b.cells.map((g)=>b0(g,g,E.cell)))),h("label",{},"Text ",h("input",{type:"search","data-filter":"text",value:E.text,placeholder:"name, id, reason"})),(E.state||E.cell||E.text)&&!b.ended&&b.tasks.some((d)=>d.cancellable)&&cancelMany("Cancel all of these","these",E,"",a),!b.ended&&button("Notify me",{"data-act":"notices",class:"aside","aria-pressed":String(a.notices),title:"A notice of the browser when a task of more than a minute ends or fails"}),a.sort.column&&button("In the usual order",{"data-act":"sort","data-column":""}))}
const VIEWS={devices:drawDevices,waiting:drawWaiting,tasks:drawTasks,actors:drawActors,timeline:(b,a)=>b.pastViews?.drawTimeline(b,a)??loading(b),accounting:(b)=>(b.accounts?b.pastViews?.drawAccounts(b):null)??loading(b),alerts:drawAlerts,nodes:drawNodes,runs:(b,a)=>b.runs?.draw(a)??[]};
function drawFrame(b,a){const bu=a.details?[tabs(b,a),panel(b,a)]:a.listed?drawListed(b,a):drawCard(b,a);
return[header(b,a),...bu,h("p",{class:"said",key:"said",role:"status","aria-live":"polite"},a.said)]}
function drawOnly(b,a){const $=b.runs?.only(a).flat()??[];
return[...($.length?$:drawEmpty("Waiting for news of it …")),h("p",{class:"said",key:"said",role:"status","aria-live":"polite"},a.said)]}
function drawEmpty(F){return[h("p",{class:"quiet",key:"none"},F)]}
function loading(b){return[empty(b.ended?"This view was not opened before the end.":"Asking the kernel …")]}
function header(b,a){return h("header",{key:"header"},h("div",{class:"line top"},firstLine(b),b.ended&&h("span",{class:"chip"},b.ended),b.alerts.length>0&&h("button",{type:"button",class:"chip urgent","data-act":"tab","data-tab":"alerts"},h("span",{"aria-hidden":"true"},"⚠ "),count(b.alerts.length,"alert")),button(a.details?"Less":"Details",{"data-act":"details","aria-expanded":String(a.details),class:"aside"})),h("div",{class:"one-line quiet",title:b.title.join(" · ")},h("span",{class:"has"},secondLine(b,a).join(" · "))))}
function secondLine(b,a){if(!b.resources.length)return b.title;
return a.details||a.listed?b.resources:[...b.resources,...b.unrealDevices]}
function firstLine(b){const H=Object.entries(b.counts).filter(([,l])=>l);
const ad=[...b.busy.map((F)=>h("strong",{key:F},F)),...H.map(([T,l])=>button(`${l} ${T}`,{key:T,class:`count ${T}`,"data-act":"count","data-state":T,title:`Show the ${T} tasks`}))];
const _=ad.flatMap((U,v)=>(v?[h("span",{key:`dot${v}`,class:"quiet dot"}," · "),U]:[U]));
return h("span",{class:"first",title:b.title.join(" · ")},_,!H.length&&[_.length>0&&h("span",{class:"quiet dot"}," · "),h("span",{class:"quiet"},"no task yet")])}
function tabs(b,a){return h("div",{class:"tabs",role:"tablist","aria-label":"Views",key:"tabs"},b.tabs.map((R)=>{const ak=R.id===a.tab;
return h("button",{type:"button",key:R.id,role:"tab",id:`${a.id}-${R.id}`,"aria-selected":String(ak),"aria-controls":`${a.id}-panel`,tabindex:ak?"0":"-1","data-act":"tab","data-tab":R.id},R.urgent&&h("span",{"aria-hidden":"true"},"⚠ "),R.label,R.badge>0&&h("span",{class:R.failed?"badge failed":"badge",title:R.failed?"failed":null},String(R.badge)))}))}
function panel(b,a){const r=VIEWS[a.tab]??drawDevices;
return h("div",{role:"tabpanel",id:`${a.id}-panel`,"aria-labelledby":`${a.id}-${a.tab}`,tabindex:"-1",key:`panel-${a.tab}`,class:"panel"},...r(b,a).flat())}
const LONG_ID=20;
function deviceLabels(rows){const C=(row)=>`${row.node_id??""}/${row.resource}`;
const aC=new Set(rows.filter((row)=>!row.parent).map((row)=>`${C(row)}/${row.id}`));
const cE=new Map();
const by=new Map();
for(const row of rows){if(!row.parent){by.set(row,`${plain(row.resource)} ${short(row.id)}`);
continue}
const w=`${C(row)}/${row.parent}`;
const cb=cE.get(w)??{number:firstFree(C(row),aC),instances:0};
cE.set(w,cb);
const dQ=row.profile?` (${plain(row.profile)})`:"";
by.set(row,`${plain(row.resource)} ${cb.number} · MIG ${cb.instances++}${dQ}`)}
return by}
function firstFree(C,aC){let l=0;
while(aC.has(`${C}/${l}`))l+=1;
aC.add(`${C}/${l}`);
return l}
function short(z){return plain(z).length>LONG_ID?`${plain(z).slice(0,12)}…`:plain(z)}
function unrealDevices(rows){return["logical","simulated"].flatMap((C)=>{const l=rows.filter((row)=>row.kind===C).length;
return l?[count(l,`${C} device`)]:[]})}
const MOST_TILES=128;
const LINES_BEYOND=1;
function devicesOf(c,k,B){const rows=(c.devices??[]).filter((row)=>row.offered!==false);
const bo=new Set(rows.map((row)=>row.node_id)).size>1;
const a1=new Map((c.nodes??[]).map((e)=>[e.node_id,plain(e.name)]));
const r=(row)=>({...deviceView(row,by.get(row)??"",bo?(a1.get(row.node_id??"")??row.node_id?.slice(0,8)??""):"",c,k),lines:row.metrics?linesOf(B?.past?.readings?.data,row):null});
const{first:ac,last:S}=tilesInSight(rows.length,B?.tiles);
const ae=rows.slice(ac,S);
const ak=B?.device?rows.find((row)=>deviceKey(row)===B.device):null;
const by=deviceLabels(rows.some((row)=>row.parent)?(c.devices??[]):ak?[...ae,ak]:ae);
return{devices:B?ae.map(r):[],devicesBefore:ac,deviceTotal:rows.length,unrealDevices:unrealDevices(rows),sameModel:rows.length>1&&new Set(rows.map(modelOf)).size===1,chosenDevice:ak?r(ak):null,heldBy:heldBy(rows,c),devicesFree:rows.filter((row)=>!row.holders?.length&&!row.free_reason).length,devicesTaken:rows.filter((row)=>!row.holders?.length&&row.free_reason).length}}
function tilesInSight(W,d_={top:0,height:460,row:40,columns:20}){if(W<=MOST_TILES)return{first:0,last:W};
const{top:br,height:aE,row,columns:ag}=d_;
const S=Math.min(W,ag*(Math.ceil((br+aE)/row)+LINES_BEYOND));
return{first:Math.max(0,Math.min(Math.floor(br/row)-LINES_BEYOND,Math.floor(W/ag)))*ag,last:S}}
function heldBy(rows,c){const cn=new Map();
for(const row of rows){for(const j of row.holders??[]){const m=cn.get(j.name)??{number:0,share:0,first:j};
m.number+=1;
m.share+=Math.min(1,j.amount??1);
cn.set(j.name,m)}}
const K=[...cn].sort((N,G)=>G[1].number-N[1].number);
return K.map(([g,{number:l,share:a9,first:ac}])=>({name:plain(g),number:l,share:a9,colour:colourOf(c,ac.function||g)}))}
function deviceKey(row){return`${row.node_id??""}/${row.resource}/${row.id}`}
function modelOf(row){return`${row.name||row.type||row.family}·${row.parent?"":(row.profile??"")}·${row.kind??"real"}`}
function deviceView(row,I,e,c,k){const[sign,a]=deviceState(row);
const holders=holderViews(row.holders??[],c,k);
return{key:deviceKey(row),label:I,title:row.parent?plain(row.id):"",node:e,model:[unmarked(plain(row.name||row.type||row.family),row),row.parent?"":plain(row.profile)].filter(Boolean).join(" · "),mark:(row.kind??"real")==="real"?"":(row.kind??""),sign,state:a,use:useWords(holders),utilisation:utilisation(row),memory:memory(row),power:power(row),facts:facts(row),reason:plain(row.free_reason),holders}}
function unmarked(x,row){return x.startsWith(`${row.kind} `)?x.slice(`${row.kind} `.length):x}
function deviceState(row){const au=row.holders?.length;
if(row.over)return["–","given back"];
if(row.free_reason&&!au)return["◼","taken"];
if(!au)return["○","free"];
return(row.free??1)>0?["◐","shared"]:["●","held"]}
function holderViews(holders,c,k){const bh=holders.map((j)=>j.task_id??j.actor_id??j.name);
return holders.map((j,v)=>({key:bh[v],name:plain(j.name),part:(j.amount??1)===1?"":amount(j.amount??1),cell:plain(j.cell),owner:ownerOf(c,j),age:j.since?age(k-j.since):"",pid:j.pid?`pid ${j.pid}`:"",colour:colourOf(c,j.function||j.name,j.actor_id??bh[v]),fraction:Math.min(1,Math.max(0,j.amount??1)),taskId:j.task_id??"",actorId:j.task_id?"":(j.actor_id??"")}))}
function useWords(holders){if(!holders.length)return"nobody holds it";
return holders.map((j)=>`${j.name} ${j.part||"1"}`).join(", ")}
function utilisation(row){const aU=row.metrics?.utilisation_percent;
return aU==null?null:{percent:aU,text:`${Math.round(aU)} %`}}
function memory(row){const cB=row.metrics?.memory_used_bytes;
const W=row.metrics?.memory_total_bytes??row.memory_bytes;
if(cB==null||!W)return null;
return{percent:(100*cB)/W,text:`${size(cB)} of ${size(W)}`}}
function power(row){const db=row.metrics?.power_watts;
return db==null?null:{percent:0,text:`${Math.round(db)} W`}}
function facts(row){const ad=[];
if(row.metrics?.temperature_celsius!=null)ad.push(`${Math.round(row.metrics.temperature_celsius)} °C`);
if(row.metrics?.power_watts!=null)ad.push(`${Math.round(row.metrics.power_watts)} W`);
return ad.join(" · ")}
function afterEnd(c){const{shared:b5}=c.runtime;
const ci=(a)=>(ENDED.has(a)?a:"ENDED_WITH_IT");
const V=(c.tasks??[]).map((row)=>({...row,state:ci(row.state),reason:ENDED.has(row.state)?row.reason:null}));
const H={};
for(const[a,l]of Object.entries(c.counts??{}))H[ci(a)]=(H[ci(a)]??0)+l;
if(b5)delete H.ENDED_WITH_IT;
return{...c,devices:(c.devices??[]).map((row)=>({...row,holders:[],free_reason:"",metrics:null,over:true})),tasks:b5?V.filter((row)=>ENDED.has(row.state)):V,counts:H,actors:(c.actors??[]).map((row)=>({...row,state:"DEAD",pending_calls:0})),actor_counts:{}}}
const ALERTS={infeasible:"Can never start",leak:"Memory leak"};
const HIDDEN_RESOURCES=/^(node:|accelerator_type:|bundle_)|^(memory|object_store_memory)$|_group_/;
const BY_STATE={column:"",down:false};
const NO_FILTER={state:"",cell:"",text:""};
function sceneOf(af,B,k){const ai=af.lost?"the kernel has gone":!af.ended?"":af.runtime.shared?"left":"shut down";
const c=ai?afterEnd(af):af;
const H=taskCounts(c);
const R=B.tab;
const a8=c.runs?.(k,ai!=="",c);
const V=R==="tasks"?tasksOf(c,B,k):[];
return{title:titleOf(c),ended:ai,endedAt:ai&&`${af.lost?"This was known":af.runtime.shared?"Left":"Shut down"} at ${clock(af.time??k,k)}.`,counts:H,busy:ai?[]:busyOf(c),resources:resourcesOf(c,ai!==""),tabs:tabsOf(c,H,a8),...devicesOf(c,k,R==="devices"?B:null),found:(c.found??[]).map(plain),waiting:waitingViews(c,k),tasks:V,tasksFound:B.found?.total??V.length,foundInAll:Boolean(B.found),taskRows:(c.tasks??[]).length,taskTotal:Object.values(H).reduce((aB,l)=>aB+l,0),cells:R==="tasks"?cellsOf(c):[],actors:R==="actors"?actorViews(c,k):[],actorsMore:actorsMore(c),runs:a8,pastViews:c.past,timeline:R==="timeline"&&c.past?c.past.timelineOf(c,B.window,k,B.range,B.past?.runs?.data):null,accounts:R==="accounting"&&c.past?c.past.accountsView(B.past?.accounting?.data,c,k):null,alerts:alertsOf(c,k),nodes:nodesOf(c,k)}}
function tasksOf(c,B,k){const at=B.found;
const rows=at?{...c,tasks:at.tasks,reasons:at.reasons}:c;
return ordered(taskViews(rows,at?NO_FILTER:B.filter,k),B.sort??BY_STATE,B.held??null)}
function titleOf(c){const{engine:ce,version:d9,pid:bl,shared:b5}=c.runtime;
const cC=(c.nodes??[]).filter((e)=>e.alive!==false).length;
return["nbaccel "+plain(d9),`${plain(ce)} engine`,cC>1?count(cC,"node"):"",bl?`head pid ${bl}`:"",b5?"shared by several notebooks":""].filter(Boolean)}
function busyOf(c){const bW=new Map();
const dx=new Set((c.nodes??[]).filter((e)=>e.alive===false).map((e)=>e.node_id));
for(const row of c.devices??[]){if(row.offered===false||dx.has(row.node_id??""))continue;
const C=bW.get(row.resource)??{held:0,all:0};
C.all+=1;
if(row.holders?.length||row.free_reason)C.held+=1;
bW.set(row.resource,C)}
if(bW.size)return[...bW].map(([g,{held:au,all:K}])=>`${au} of ${count(K,plain(g))} busy`);
const aB=(of)=>(c.nodes??[]).reduce((K,e)=>K+(e.alive===false?0:(e[of]?.CPU??0)),0);
return aB("totals")?[`${amount(aB("totals")-aB("available"))} of ${amount(aB("totals"))} CPUs busy`]:[]}
function resourcesOf(c,ai){const cx=new Map();
for(const e of c.nodes??[]){for(const[g,W]of e.alive===false?[]:Object.entries(e.totals??{})){if(HIDDEN_RESOURCES.test(g))continue;
const[cf,K]=cx.get(g)??[0,0];
cx.set(g,[cf+(e.available?.[g]??0),K+W])}}
return[...cx].map(([g,[cf,K]])=>`${plain(g)} ${ai?amount(K):`${amount(cf)} of ${amount(K)} free`}`)}
function tabsOf(c,H,a8){const aM=(c.alerts??[]).length;
const df=(c.actors??[]).filter((row)=>row.state!=="DEAD").length+actorsMore(c);
const tabs=[{id:"devices",label:"Devices",badge:0,urgent:false},{id:"waiting",label:"Waiting",badge:H.waiting,urgent:false},{id:"tasks",label:"Tasks",badge:H.failed,urgent:false,failed:true},{id:"actors",label:"Actors",badge:df,urgent:false},{id:"timeline",label:"Timeline",badge:0,urgent:false},{id:"accounting",label:"Accounting",badge:0,urgent:false},{id:"alerts",label:"Alerts",badge:aM,urgent:aM>0}];
if(a8)tabs.push({id:"runs",label:"Runs",badge:a8.active,urgent:false});
if((c.nodes??[]).length>1||c.arrivals?.length)tabs.push({id:"nodes",label:"Nodes",badge:0,urgent:false});
return tabs}
function actorsMore(c){const $=(c.actors??[]).filter((row)=>row.state!=="DEAD").length;
const K=Object.entries(c.actor_counts??{}).filter(([a])=>a!=="DEAD");
return Math.max(0,K.reduce((aB,[,l])=>aB+l,0)-$)}
function alertsOf(c,k){return(c.alerts??[]).map((O,v)=>({key:`${O.since}/${v}`,kind:O.kind,title:ALERTS[O.kind]??plain(O.kind[0].toUpperCase()+O.kind.slice(1)),message:plain(O.message),age:age(k-O.since),never:(O.kind==="infeasible"&&O.task_id)||"-"})).reverse()}
function nodesOf(c,k){const dz=(c.nodes??[]).map((e)=>({key:e.node_id,name:plain(e.name),sign:e.alive===false?"✕":"●",state:e.alive===false?"gone":"alive",role:e.is_head?"head":"",resources:resourcesOf({...c,nodes:[e]},Boolean(c.ended)).join(" · "),why:plain(e.why)||whyOfNode(e,k),moves:(e.leaves_at??0)>k}));
const dj=(c.arrivals??[]).map((L)=>({key:L.id,name:plain(L.node_type),sign:"◌",state:"arriving",role:"",resources:"",moves:true,why:`for ${duration(k-(L.since??k))}${L.usually_s?` (usually ${duration(L.usually_s)})`:""}${["","arriving"].includes(L.state??"")?"":`: ${plain(L.state)}`}`}));
return[...dz,...dj]}
function whyOfNode(e,k){if(e.kept_by)return`stays: ${plain(e.kept_by)}`;
if(!e.leaves_at||!e.idle_since)return"";
const aG=e.leaves_at-k;
return`idle for ${duration(k-e.idle_since)}, ${aG>0?`leaves in ${duration(aG)}`:"kept for a request or its type's min"}`}
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
& .tile .number{white-space:nowrap;overflow:hidden;font-size:.92em}
& .tile .load{position:absolute;right:6px;top:3px;width:42px;height:20px;contain:strict;text-align:right;white-space:nowrap;font-size:.92em}
& .tile .bar{width:100%;height:8px}
& .badge.failed{background:none;color:var(--failed);border:1px solid var(--failed)}
& .badge{margin-left:6px;padding:0 6px;border-radius:9px;background:var(--raised);color:var(--ink);font-size:.88em;font-weight:400}
& .scroll{overflow:auto;max-height:460px;margin-top:6px}
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
& .two-lines{display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:2;overflow:hidden}
& .acts{white-space:nowrap;text-align:right;padding:4px 3px 4px 8px;position:sticky;right:0;background:var(--ground)}
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
& td.share .bar{width:100%;min-width:60px;max-width:220px;height:8px}
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
& .model,& .measure .bar{display:none}
& thead{position:absolute;clip-path:inset(50%);width:1px;height:1px;overflow:hidden}
& table,& tbody{display:block}
& tbody tr{display:flex;flex-wrap:wrap;align-items:center;gap:2px 12px;padding:5px 0}
& tbody tr+tr{border-top:1px solid color-mix(in srgb,var(--line) 55%,transparent)!important}
& tbody tr th[scope=row]{flex:1 1 calc(100% - 160px);padding:0;border:0!important;min-width:0}
& tbody tr td{order:2;padding:0;border:0!important;min-width:0;max-width:100%}
& tbody tr td:empty{display:none}
& tbody tr td.why,& tbody tr td.holders{flex:1 0 100%;order:3;white-space:normal}
& tbody tr td.acts{order:1;flex:0 0 130px;margin-left:auto;position:static}
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
function watchVisibility(Q,ab){const t=Q.ownerDocument;
const dd=t.defaultView??window;
let cV=false;
let S=null;
const aH=(aZ=false)=>{const a4=cV&&!aZ&&t.visibilityState!=="hidden";
if(a4!==S){S=a4;
ab(a4,aZ)}else if(aZ)ab(false,true)};
const bB=new IntersectionObserver((cL)=>{cV=cL[cL.length-1].isIntersecting;
aH()});
const c5=()=>aH();
const aZ=()=>aH(true);
bB.observe(Q);
t.addEventListener("visibilitychange",c5);
dd.addEventListener("pagehide",aZ);
return()=>{bB.disconnect();
t.removeEventListener("visibilitychange",c5);
dd.removeEventListener("pagehide",aZ);
aH(true)}}
const MORE_ROWS=1000;
function mount(place,J,cX={}){const t=place.ownerDocument;
const i=t.createElement("div");
const bq=t.createElement("style");
bq.textContent=STYLE;
i.className="nbaccel-cockpit";
i.dataset.lmSuppressShortcuts="true";
place.append(bq,i);
const a=cX.state??newState(cX.details??false);
a.goes=(cell)=>Boolean(J.go)||isHere(i,cell);
a.retries=Boolean(J.retries);
const clock=kernelClock();
let a4=false;
const bi={running:(new Set())};
let waiting=0;
const aw=()=>{waiting=0;
const c=J.snapshot();
const cO=i.contains(t.activeElement)?t.activeElement:null;
if(i.clientWidth)a.room=i.clientWidth-30;
if(!c)draw(i,drawEmpty("Waiting for the first snapshot of the cluster …"));
else drawSnapshot(i,c,a,c.ended?(c.time??0):clock.now());
if(cO&&!cO.isConnected)refocus(i,a)};
const bH=()=>{if(a4&&!waiting)waiting=requestAnimationFrame(aw)};
const cD=()=>{const c=J.snapshot();
if(c?.time)clock.heard(c.time);
forget(a,c);
if(a4&&!c?.ended)aH();
const ay=c?endings(bi,c):[];
if(a.notices)notify(t.defaultView,ay);
bH()};
const bG=(k,aZ=false)=>{a4=k;
const bz=k||(a.notices&&!aZ);
J.send({say:bz?"visible":"hidden",view:a.id,rows:k&&a.wide?MORE_ROWS:0});
if(k)bx.look();
else bx.end();
bH()};
const cN=finder(J,a);
const bx=historian(J,a,clock.now);
const aH=()=>{cN.find();
bx.look()};
const cd=[cN.end,bx.end,J.subscribe(cD),actions(i,J,a,{redraw:bH,more:()=>bG(a4),look:aH,recall:bx.heard,now:clock.now}),watchRows(i,a,bH),watchVisibility(i,bG)];
const d2=setInterval(bH,1000);
cD();
aw();
return()=>{clearInterval(d2);
if(waiting)cancelAnimationFrame(waiting);
for(const az of cd)az();
bq.remove();
i.remove()}}
function drawSnapshot(i,c,a,k){const B={filter:a.filter,window:a.window,range:a.range,sort:a.sort,held:a.held,tab:a.details?a.tab:"devices",found:foundNow(a),past:a.past,device:a.device,tiles:a.tiles};
const b=sceneOf(c,B,k);
if(b.timeline)a.shown={from:b.timeline.start,to:b.timeline.start+b.timeline.seconds};
const ae=()=>((a.only?drawOnly(b,a):drawFrame(b,a)).filter(Boolean));
draw(i,ae());
if(measureTiles(i,a))return drawSnapshot(i,c,a,k);
if(a.tab==="tasks"&&measure(i,a))draw(i,ae());
if((a.tab==="runs"||a.only)&&measureRows(i,a))draw(i,ae());
followLog(i,a)}
function forget(a,c){if(a.rows.size>4*MORE_ROWS)a.rows.clear();
if(!a.asked.size||!c)return;
const a$=new Set((c.actors??[]).filter((row)=>row.state!=="DEAD").map((row)=>row.actor_id));
for(const row of c.tasks??[])if(!ENDED.has(row.state))a$.add(row.task_id);
for(const z of a.asked)if(!a$.has(z))a.asked.delete(z)}
function refocus(i,a){const dI=i.querySelector('[data-act="keep"]')??i.querySelector(a.details?'[role="tab"][aria-selected="true"]':'[data-act="details"]');
(dI)?.focus({preventScroll:true})}
function unpacked(af){return{...af,devices:rowsOf(af.devices),tasks:rowsOf(af.tasks)}}
function rowsOf(table){if(!table||Array.isArray(table))return table??[];
const rows=Array.from({length:table.rows},()=>({...(table.same)}));
const bf=(g,d8)=>rows.forEach((row,v)=>{const M=d8(v);
if(M!=null)row[g]=M});
for(const[g,bL]of Object.entries(table.each??{}))bf(g,(v)=>bL[v]);
for(const[g,[dp,cs]]of Object.entries(table.of??{}))bf(g,(v)=>dp[cs[v]]);
for(const[g,ch]of Object.entries(table.within??{})){const bL=rowsOf(ch);
bf(g,(v)=>bL[v])}
for(const[g,{sizes:d$,rows:ch}]of Object.entries(table.lists??{})){const bL=rowsOf(ch);
bf(g,(v)=>bL.splice(0,d$[v]))}
return rows}
function takePlaces(t,g,dY){const aC=new Map();
const c2=(place)=>{if(!aC.has((place)))aC.set((place),dY((place)))};
const c3=(e)=>{if(e.nodeType!==1)return;
const Q=(e);
if(Q.classList.contains(g))c2(Q);
for(const place of Q.getElementsByClassName(g))c2(place)};
const bB=new MutationObserver((dU)=>{for(const[place,cj]of aC){if(place.isConnected)continue;
aC.delete(place);
cj()}
for(const bE of dU)for(const e of bE.addedNodes)if(e.isConnected)c3(e)});
bB.observe(t,{childList:true,subtree:true});
c3(t.documentElement);
return()=>{bB.disconnect();
for(const cj of aC.values())cj()}}
function cover(place,bf){const c_=([...place.children]);
const a$=place.ownerDocument.createElement("div");
for(const L of c_)L.style.display="none";
place.append(a$);
const az=bf(a$);
return()=>{az();
a$.remove();
for(const L of c_)L.style.display=""}}
const PARTS={h,button,cell,empty,nameOf,table,rowsOf,PALETTE,age,amount,clock,count,demandWords,deviceWords,duration,hostWords,plain,stateWord,colourOf,subjectOf,deviceLabels,laneName,cellWords,LAST_MINUTE,WHOLE_RUN,inSight};
function loadedFrom(x,d5,ab){let B=false;
let cS=null;
return()=>{const bd=x.get(d5);
if(bd&&!B){B=true;
import(URL.createObjectURL(new Blob([bd],{type:"text/javascript"}))).then((cl)=>{cS=cl.default(PARTS);
ab()})}
return cS}}
function pastOf(x,ab){return loadedFrom(x,"past_code",ab)}
function runsOf(x,ab){const cl=loadedFrom(x,"runs_code",ab);
let q="";
let r=null;
return()=>{const[cJ,k]=[cl(),x.get("runs")];
if(cJ&&k!==q)r=cJ(JSON.parse((q=k)));
return r}}
const OF="nbaccel-of-";
function sourceOf(x){let q="";
let cp=null;
let ck=false;
let cy=()=>{};
const a8=runsOf(x,()=>cy());
const bk=pastOf(x,()=>cy());
return{snapshot(){const k=x.get("snapshot");
if(k!==q){q=k;
cp=k?unpacked(JSON.parse(k)):null}
const $=cp&&{...cp,runs:a8(),past:bk()};
return ck&&$?{...$,ended:true,lost:ck}:$},subscribe(ab){const c7=()=>{ck=true;
ab()};
cy=ab;
x.on("change:snapshot",ab);
x.on("change:runs",ab);
x.on("change:past_code",ab);
x.on("comm_live_update",c7);
return()=>{x.off("change:snapshot",ab);
x.off("change:runs",ab);
x.off("change:past_code",ab);
x.off("comm_live_update",c7)}},listen(bg){x.on("msg:custom",bg);
return()=>x.off("msg:custom",bg)},send:(D)=>x.send(D),retries:true}}
function render({model:x,el:dq}){return mount(dq,sourceOf(x),{state:newState(Boolean(x.get("details")))})}
function initialize({model:x}){const c0=new WeakMap();
return takePlaces(document,x.get("place"),(place)=>{const a=c0.get(place)??newState(place.classList.contains("nbaccel-details"));
a.only=[...place.classList].find((g)=>g.startsWith(OF))?.slice(OF.length)??"";
c0.set(place,a);
return cover(place,(a$)=>mount(a$,sourceOf(x),{state:a}))})}
export default{initialize,render};
