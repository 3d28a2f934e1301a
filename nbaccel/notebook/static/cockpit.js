// nbaccel's cockpit, joined from nbaccel/notebook/cockpit/ by tools/join_cockpit.py. Change it there.
function copyText(t,q){const cC=t.defaultView?.navigator.clipboard;
if(cC)cC.writeText(q).catch(()=>copySelected(t,q));
else copySelected(t,q)}
function copySelected(t,q){const aI=t.createElement("textarea");
aI.value=q;
aI.style.position="fixed";
t.body.append(aI);
aI.select();
t.execCommand("copy");
aI.remove()}
const STEP=0.8;
function isHere(g,F){return F.startsWith("[")&&Boolean(g.closest(".jp-Notebook"))}
async function dT(g,F,ai){const bX=g.closest(".jp-Notebook");
const t=g.ownerDocument.defaultView;
if(!bX||!t)return;
const co=F.split(" ")[0];
const aj=(q)=>[...bX.querySelectorAll(".jp-InputPrompt")].find((R)=>R.textContent===`${q}:`)?.closest(".jp-Cell");
const bE=bX.querySelector(".jp-WindowedPanel-outer")??bX;
const y=bE.scrollTop;
let cell=aj(co);
for(let bq=0;!cell&&bq<bE.scrollHeight;bq+=STEP*bE.clientHeight){bE.scrollTop=bq;
await new Promise((_)=>t.requestAnimationFrame(()=>t.requestAnimationFrame(_)));
cell=aj(co)}
if(!cell)bE.scrollTop=y;
cell??=aj("[*]");
if(!cell)return ai(`No cell of this notebook is ${co} any more.`);
cell.scrollIntoView({block:"center"});
(cell).focus({preventScroll:true})}
const SIZES=([[2**40,"TiB"],[2**30,"GiB"],[2**20,"MiB"],[2**10,"KiB"]]);
const ENDED=new Set(["FINISHED","FAILED","CANCELLED"]);
const RUNNING=new Set(["RUNNING","RUNNING_IN_RAY_GET","RUNNING_IN_RAY_WAIT","SUBMITTED_TO_WORKER"]);
function amount(bC){return String(Math.round(bC*10000)/10000)}
function size(bQ){if(bQ==null)return"unknown";
for(const[c4,O]of SIZES){if(bQ>=c4){const H=bQ/c4;
return`${H>=10||Number.isInteger(H)?Math.round(H):H.toFixed(1)} ${O}`}}
return`${bQ} B`}
function age(ap){const aq=Math.max(0,Math.floor(ap));
const a1=(n)=>String(n).padStart(2,"0");
if(aq<60)return`${aq} s`;
if(aq<3600)return`${Math.floor(aq/60)} min ${a1(aq%60)} s`;
return`${Math.floor(aq/3600)} h ${a1(Math.floor((aq%3600)/60))} min`}
function duration(ap){return ap<9.95?`${Math.max(0,ap).toFixed(1)} s`:age(ap)}
function clock(bI,j){const D=new Date(bI*1000);
const a1=(n)=>String(n).padStart(2,"0");
const[dj,cD]=[`${a1(D.getMonth()+1)}-${a1(D.getDate())}`,`${a1(D.getHours())}:${a1(D.getMinutes())}`];
return D.toDateString()===new Date(j*1000).toDateString()?`${cD}:${a1(D.getSeconds())}`:`${dj} ${cD}`}
function plain(q){return(q??"").replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,(dg)=>`\\u${dg.charCodeAt(0).toString(16).padStart(4,"0")}`)}
function count(n,ci){return n===1||ci.endsWith("s")?`${n} ${ci}`:`${n} ${ci}s`}
function demandWords(dk){const aa=Object.entries(dk??{}).filter(([,bC])=>bC);
return aa.map(([i,bC])=>`${amount(bC)} ${plain(i)}`).join(", ")||"nothing"}
function deviceWords(bh){return Object.entries(bh??{}).filter(([,aJ])=>aJ.length).map(([i,aJ])=>`${plain(i)} ${aJ.map(plain).join(", ")}`).join("; ")}
function shortId(x){const dD=x.length===48&&x.startsWith("000000",24);
if(dD)return`${x.slice(0,4)}-${parseInt(x.slice(30,40),16)}`;
return x.startsWith("f".repeat(16))?x.slice(16,28):x.slice(0,12)}
function stateWord(a){if(RUNNING.has(a))return"running";
if(a.startsWith("PENDING"))return"waiting";
return a.toLowerCase().replaceAll("_"," ")}
function stateSign(O){return{running:"●",waiting:"◌",finished:"✓",failed:"✕",cancelled:"⊘","ended with it":"–",alive:"●",dead:"✕"}[O]??"◌"}
function ownerOf(b,row){if(!row.job||row.job===b.runtime.job||!b.jobs?.length)return"";
return plain(b.jobs.find((dz)=>dz.number===row.job)?.name??`job ${row.job}`)}
function cellWords(b,row){return[ownerOf(b,row),plain(row.cell)].filter(Boolean).join(" ")}
const LONG_S=60;
const MOST_RUNNING=10_000;
function endings(bi,b){const aG=[];
if(bi.running.size>MOST_RUNNING)bi.running.clear();
for(const row of b.tasks??[]){if(!ENDED.has(row.state)){if(row.started_at!=null&&!ownerOf(b,row))bi.running.add(row.task_id);
continue}
if(!bi.running.delete(row.task_id)||row.started_at==null)continue;
const ap=(row.finished_at??b.time??0)-row.started_at;
if(ap<LONG_S)continue;
const bs=row.reason==null?row.why:b.reasons?.[row.reason];
const cv=`${plain(row.name)} #${shortId(row.task_id)} ${{FINISHED:"has finished",FAILED:"has failed"}[row.state]??`was ${stateWord(row.state)}`}`;
aG.push({id:row.task_id,title:cv,body:[`after ${age(ap)}`,row.cell&&`cell ${plain(row.cell)}`,plain(bs)].filter(Boolean).join(" · ")})}
return aG}
async function d0(t,a,ai){const bz=(t)?.Notification;
if(a.notices){a.notices=false;
ai("");
return}
if(!bz)return ai("This browser shows no notices.");
a.notices=(await bz.requestPermission())==="granted";
ai(a.notices?"The browser will tell you when a task of more than a minute ends or fails.":"The browser does not let this page show notices. Its settings for this site can change that.")}
function notify(t,aG){const bz=(t)?.Notification;
if(!bz)return;
for(const{id:x,title:cv,body:bv}of aG)new bz(cv,{body:bv,tag:`nbaccel-${x}`})}
const OFFERED="nbaccel-order";
function secondWay(g,E,B,aw){const bl=E.snapshot()?.runtime.pid;
const dE=new CustomEvent(OFFERED,{bubbles:true,cancelable:true,detail:{message:B,pid:bl,taken:aw}});
return!g.dispatchEvent(dE)}
const TILES=".scroll.of-tiles";
const REGIONS=".scroll[data-sight]";
function watchRows(g,a,ao){const aF=(m)=>{const w=(m.target);
if(w.matches?.(TILES))measureTiles(g,a);
else if(w.matches?.(REGIONS))note(w,a);
else return;
ao()};
const moved=(m)=>{const bv=m.type==="pointerover"?(m.target).closest?.(`${REGIONS} tbody`):null;
const aD=(bv?.closest(REGIONS)??null)?.dataset.sight??"";
if(aD===a.heldSight)return;
a.heldSight=aD;
ao()};
return listening(g,aF,moved)}
function listening(g,aF,moved){g.addEventListener("scroll",aF,true);
g.addEventListener("pointerover",moved);
g.addEventListener("pointerleave",moved);
return()=>{g.removeEventListener("scroll",aF,true);
g.removeEventListener("pointerover",moved);
g.removeEventListener("pointerleave",moved)}}
function measureRows(g,a){const dO=([...g.querySelectorAll(REGIONS)]);
return dO.map((w)=>note(w,a)).some(Boolean)}
function measureTiles(g,a){const w=g.querySelector(TILES);
const tile=w?.querySelector("li:not(.gap)");
const aY=tile?.parentElement;
if(!w||!tile||!aY)return false;
const bp=getComputedStyle(aY);
const j={top:w.scrollTop,height:w.clientHeight,columns:bp.gridTemplateColumns.split(" ").length,row:tile.getBoundingClientRect().height+parseFloat(bp.rowGap)};
const y=a.tiles;
a.tiles=j;
return y?.columns!==j.columns||Math.abs(y.top-j.top)>j.row||Math.abs(y.height-j.height)>j.row||Math.abs(y.row-j.row)>0.1}
function note(w,a){const i=w.dataset.sight??"";
const y=a.sights.get(i);
const rows=w.querySelectorAll("tbody tr:not(.gap)");
if(!rows.length)return false;
const ax=(rows[rows.length-1].getBoundingClientRect().bottom-rows[0].getBoundingClientRect().top)/rows.length;
const I=y&&(ax<8||Math.abs(ax-y.row)<4);
a.sights.set(i,{top:w.scrollTop,height:Math.max(w.clientHeight,100),row:I?y.row:ax});
return!I||Math.abs(y.top-w.scrollTop)>1}
const TASKS='.scroll[aria-label="Tasks"]';
function watchSight(g,a,ao){const aF=(m)=>{const w=(m.target);
if(a.log&&w.matches?.(".printed"))a.log.follow=w.scrollTop+w.clientHeight>w.scrollHeight-4;
if(!w.matches?.(TASKS))return;
a.scrolled={...a.scrolled,top:w.scrollTop,height:w.clientHeight};
ao()};
const moved=(m)=>{const aD=m.type==="pointerover"&&Boolean((m.target).closest?.(`${TASKS} tbody`));
if(aD===Boolean(a.held))return;
a.held=aD?a.order:null;
ao()};
return listening(g,aF,moved)}
function measure(g,a){const w=g.querySelector(TASKS);
const rows=w?.querySelectorAll("tr[data-task]");
if(!w||!rows?.length)return false;
const y=a.scrolled;
const $=(rows[0]).getBoundingClientRect();
const N=(rows[rows.length-1]).getBoundingClientRect();
const am=w.querySelector(".logrow")?.getBoundingClientRect().height??0;
const row=(N.bottom-$.top-(w.querySelector(".logrow ~ tr[data-task]")?am:0))/rows.length;
const I=row<8||Math.abs(row-y.row)<4;
a.scrolled={top:w.scrollTop,height:Math.max(w.clientHeight,100),row:I?y.row:row};
return!I||Math.abs(a.scrolled.top-y.top)>1}
const SAY_EVERY_MS=5000;
function speaker(a,r){let N=0;
let az;
return(F)=>{clearTimeout(az);
const b3=Math.max(0,N+SAY_EVERY_MS-Date.now());
az=setTimeout(()=>{N=Date.now();
a.said=F;
r.redraw()},a.said?b3:0)}}
const LEAST_S=0.05;
const LEAST_DRAG_PX=6;
const CARD_PX=246;
const HOVERS=["pointerover","pointerleave","focusin","focusout"];
function zoomed({from,to:a0},bP,place=0.5){const cM=Math.max(LEAST_S,(a0-from)*bP);
const D=from+(a0-from)*place;
return{from:D-cM*place,to:D+cM*(1-place)}}
function moved({from,to:a0},dR){const bP=(a0-from)*dR;
return{from:from+bP,to:a0+bP}}
function keyed(v,aL){if(v==="+"||v==="=")return{range:zoomed(aL,0.5)};
if(v==="-")return{range:zoomed(aL,2)};
if(v==="ArrowLeft")return{range:moved(aL,-0.2)};
if(v==="ArrowRight")return{range:moved(aL,0.2)};
return v==="0"||v==="Home"?{range:null}:null}
function placeOfCard(g,bO){const[ba,a3]=[g.getBoundingClientRect(),bO.getBoundingClientRect()];
const aA=Math.max(8,Math.min(a3.left,ba.right-CARD_PX)-ba.left);
const b5=a3.top-ba.top<ba.height/2?`top:${a3.bottom-ba.top+4}px`:`bottom:${ba.bottom-a3.top+4}px`;
return`left:${Math.round(aA)}px;max-width:${CARD_PX-16}px;${b5}`}
function watchZoom(g,a,ab,ao){let aO=null;
const c$=(m)=>(m.target).closest?.("svg.timeline");
const placeOf=(aM,d6)=>{const a3=aM.getBoundingClientRect();
const{width:d5,left:aA,right:cp}=a.lanes;
return Math.min(1,Math.max(0,(((d6-a3.left)/a3.width)*d5-aA)/(cp-aA)))};
const da=(m)=>{const aM=c$(m);
if(!aM||!(m.ctrlKey||m.metaKey))return;
m.preventDefault();
a.range=zoomed(ab(),m.deltaY>0?1.25:0.8,placeOf(aM,m.clientX));
ao(true)};
const pressed=(m)=>{const aM=c$(m);
aO=aM&&m.button===0?{x:m.clientX,place:placeOf(aM,m.clientX)}:null};
const cX=(m)=>{const aM=g.querySelector("svg.timeline");
if(!aO||!aM||Math.abs(m.clientX-aO.x)<LEAST_DRAG_PX)return void(aO=null);
const[aA,cp]=[aO.place,placeOf(aM,m.clientX)].sort((L,M)=>L-M);
const{from,to:a0}=ab();
const aL={from:from+(a0-from)*aA,to:from+(a0-from)*cp};
if(aL.to-aL.from>=LEAST_S)a.range=aL;
aO=null;
ao(true)};
const cK=(m)=>{const aD=(/pointerover|focusin/.test(m.type)?(m.target).closest?.("[data-bar]"):null);
const bO=aD?.dataset.bar??"";
if(bO===a.hover.bar)return;
a.hover={bar:bO,style:aD?placeOfCard(g,aD):""};
ao(false)};
const v=(m)=>{const dF=(m.target).matches?.('.scroll[aria-label="Timeline"]');
const _=dF&&!m.ctrlKey&&!m.metaKey?keyed(m.key,ab()):null;
if(!_)return;
a.range=_.range;
m.preventDefault();
ao(true)};
g.addEventListener("wheel",da,{passive:false});
g.addEventListener("pointerdown",pressed);
g.addEventListener("pointerup",cX);
for(const cw of HOVERS)g.addEventListener(cw,cK);
const ar=()=>{g.removeEventListener("wheel",da);
g.removeEventListener("pointerdown",pressed);
g.removeEventListener("pointerup",cX);
for(const cw of HOVERS)g.removeEventListener(cw,cK)};
return{key:v,end:ar}}
const TAKEN_WITHIN_MS=1500;
function actions(g,E,a,r){const bK=new Map();
const ai=speaker(a,r);
const bB=(B,i)=>{a.doubted="";
E.send(B);
a.asked.add(B.id);
clearTimeout(bK.get(B.id));
bK.set(B.id,setTimeout(()=>{if(B.say!=="retry"&&secondWay(g,E,B,ai))return;
ai(`The kernel is busy and takes messages only between cells: ${i} is told when the running cell ends. To end the cell itself, use Stop.`)},TAKEN_WITHIN_MS));
r.redraw()};
const a9={cancel:(l)=>bB({say:"cancel",id:l.id},`${l.name}`),retry:(l)=>bB({say:"retry",id:l.id},`${l.name}`),kill:(l)=>bB({say:"kill",id:l.id},`${l.name}`),"cancel-run":(l)=>bB({say:"stop",id:l.id},`${l.name}`),doubt(l){a.doubted=l.id??"";
ai(`${l.name} belongs to ${l.owner}, not to this notebook.`)},notices:()=>void d0(g.ownerDocument.defaultView,a,ai).then(r.more),sure:(l)=>void(a.doubted=l.id??""),"cancel-many":(l)=>bB({say:"cancel-many",id:l.id,function:l.function,filter:{state:l.state,cell:l.cell,text:l.text}},`${l.name}`),keep(){a.doubted="";
ai("")},logs(l){delete a.past.task_log;
a.log=a.log?.id===l.id?null:{id:l.id??"",name:l.name??"",search:"",follow:true};
r.look()},"close-log":()=>void(a.log=null),go:({cell=""})=>void(E.go?E.go(cell):dT(g,cell,ai)),details(){a.details=!a.details;
r.look()},tab(l){a.tab=l.tab??"devices";
r.look()},window(l){a.window=Number(l.window);
a.range=null;
r.look()},zoom(l){a.range=zoomed(a.shown,Number(l.by));
r.look()},follow(){a.range=null;
r.look()},"ask-more"(){a.wide=true;
r.more();
r.look()},count(l){a.details=true;
a.tab="tasks";
a.filter={state:l.state==="ended with it"?"":(l.state??""),cell:"",text:l.text??""};
r.look()},sort(l){const bd=l.column??"";
a.sort={column:bd,down:a.sort.column===bd&&!a.sort.down};
a.held=null},group:(l)=>void(a.open.delete(l.function??"")||a.open.add(l.function??"")),tile:(l)=>void(a.device=a.device===l.device?"":(l.device??"")),copy(l){copyText(g.ownerDocument,l.text??"");
ai(`Copied ${l.name}.`)},trace(){const b=E.snapshot();
if(b?.past)save(g.ownerDocument,JSON.stringify(b.past.traceOf(b,r.now())))}};
const cB=(m)=>{const a8=((m.target).closest?.("[data-act]"));
if(!a8||a8.hasAttribute("disabled"))return;
const ac=a8.dataset.act??"";
const dy=(m).detail>1;
if(!dy||!/^(cancel|kill|retry)/.test(ac))a9[ac]?.(a8.dataset);
r.redraw()};
const c3=(m)=>{const aI=(m.target);
if(aI.dataset?.search&&a.log){a.log.search=aI.value;
r.redraw()}
const i=(aI.dataset?.filter);
if(!i)return;
a.filter={...a.filter,[i]:aI.value};
r.look();
r.redraw()};
const dc=watchZoom(g,a,()=>a.shown,(aL)=>{if(aL)r.look();
r.redraw()});
const v=(m)=>{if(!g.contains((m.target)))return;
dc.key(m);
pressed(m,g,a9,r)};
const bg=E.listen((B)=>{if(B.say==="taken"){clearTimeout(bK.get(B.id));
bK.delete(B.id);
ai(B.words??"")}else if(B.say==="found"&&B.id===a.id){a.found=B.found}else if(B.say==="history"&&B.id===a.id){r.recall(B)}
r.redraw()});
const b9=[watchSight(g,a,r.redraw),dc.end];
g.addEventListener("click",cB);
g.addEventListener("input",c3);
const t=g.ownerDocument.defaultView;
t?.addEventListener("keydown",v,true);
return()=>{bg();
for(const ar of b9)ar();
for(const dZ of bK.values())clearTimeout(dZ);
g.removeEventListener("click",cB);
g.removeEventListener("input",c3);
t?.removeEventListener("keydown",v,true)}}
function pressed(m,g,a9,r){const a8=(m.target);
if(m.key==="Escape"&&g.querySelector('[data-act="keep"]'))a9.keep({});
else if(m.key==="Escape"&&g.querySelector(".log"))a9["close-log"]({});
else if(a8.getAttribute("role")==="tab"){const tabs=([...g.querySelectorAll('[role="tab"]')]);
const D=tabs.indexOf(a8);
const cR={ArrowRight:D+1,ArrowLeft:D-1,Home:0,End:tabs.length-1}[m.key];
if(cR!==undefined){const P=tabs[(cR+tabs.length)%tabs.length];
a9.tab(P.dataset);
P.focus();
m.preventDefault()}}
if(m.key!=="Tab")m.stopPropagation();
r.redraw()}
function save(t,q){const bV=t.createElement("a");
bV.href=URL.createObjectURL(new Blob([q],{type:"application/json"}));
bV.download="nbaccel-trace.json";
bV.click();
setTimeout(()=>URL.revokeObjectURL(bV.href),1000)}
function kernelClock(c8=()=>Date.now()/1000){let b4=0;
return{heard(bI){b4=Math.max(b4,bI-c8())},now:()=>c8()+b4}}
const SVG="http://www.w3.org/2000/svg";
const DRAWN=Symbol("drawn");
function h(dX,bm={},...aP){const ak=[];
for(const o of aP){if(!Array.isArray(o))o||o===""?ak.push(o):null;
else for(const R of o)if(R||R==="")ak.push(R)}
return{tag:dX,key:bm.key??"",props:bm,children:ak}}
function draw(an,aP){if(!fits(an,aP))return arrange(an,aP);
let e=an.firstChild;
for(const o of aP){if(e)update(e,o);
e=e?.nextSibling??null}}
function fits(an,aP){let e=an.firstChild;
for(const o of aP){if(!e||!isOf(e,o)||(typeof o!=="string"&&o.key!==keyOf(e)))return false;
e=e.nextSibling}
return!e}
function arrange(an,aP){const bj=([...an.childNodes]);
const keyed=new Map(bj.filter((e)=>keyOf(e)).map((e)=>[keyOf(e),e]));
const dI=bj.filter((e)=>!keyOf(e));
const cL=new Set();
let place=an.firstChild;
for(const o of aP){const e=matching(o,keyed,dI)??created(o,an);
cL.add(e);
update(e,o);
if(e===place)place=place.nextSibling;
else an.insertBefore(e,place)}
for(const e of bj)if(!cL.has(e))e.remove()}
function keyOf(e){return(e)[DRAWN]?.key??""}
function isOf(e,o){return typeof o==="string"?e.nodeType===3:(e)[DRAWN]?.tag===o.tag}
function matching(o,keyed,bZ){if(typeof o!=="string"&&o.key){const e=keyed.get(o.key);
keyed.delete(o.key);
return e&&isOf(e,o)?e:undefined}
const u=bZ.findIndex((e)=>isOf(e,o));
return u<0?undefined:bZ.splice(0,u+1)[u]}
function created(o,an){const t=an.ownerDocument;
if(typeof o==="string")return t.createTextNode("");
const dx=o.tag==="svg"||an.namespaceURI===SVG;
const K=dx?t.createElementNS(SVG,o.tag):t.createElement(o.tag);
(K)[DRAWN]={tag:o.tag,key:o.key,props:{},children:[]};
return K}
function update(e,o){if(typeof o==="string"){if(e.nodeValue!==o)e.nodeValue=o;
return}
const K=(e);
const Y=(K)[DRAWN];
if(Y.shape===o)return;
const y=Y.props;
for(const i in y)if(!(i in o.props))set(K,i,null);
for(const i in o.props)if(y[i]!==o.props[i])set(K,i,o.props[i]);
if("value"in o.props&&(K).value!==o.props.value)set(K,"value",o.props.value);
Y.props=o.props;
Y.shape=o;
if(o.children.length||K.firstChild)draw(K,o.children)}
function set(K,i,H){if(i==="key")return;
if(i==="value")(K).value=H??"";
else if(H==null||H===false)K.removeAttribute(i);
else if(i==="style")K.setAttribute("style",H);
else K.setAttribute(i,H===true?"":String(H))}
function table(bR,Z,rows,au={}){const dt=Z.map((bd,u)=>head(typeof bd==="string"?{name:bd}:bd,u,au.sort));
return h("div",{class:bR==="Devices"?"scroll whole":"scroll",key:bR,role:"region","aria-label":bR,tabindex:"0","data-sight":au.sight??null},h("table",{"aria-rowcount":au.rows&&au.rows+1},h("caption",{class:"unseen"},bR),h("thead",{},h("tr",{},dt)),h("tbody",{},rows)))}
function head({name:i,sort:bo},u,bH){if(!bo)return h("th",{scope:"col",key:i||`c${u}`},i||h("span",{class:"unseen"},"Actions"));
const bL=bH?.column!==bo?"none":bH.down?"descending":"ascending";
const de={none:"",ascending:" ↑",descending:" ↓"}[bL];
return h("th",{scope:"col",key:i,"aria-sort":bL},h("button",{type:"button",class:"sorts","data-act":"sort","data-column":bo},i,h("span",{"aria-hidden":"true"},de)))}
function nameOf(i){return h("span",{class:"name cut",title:i},i)}
function button(V,bm){return h("button",{type:"button",...bm},V)}
const VERBS={cancel:"Cancel",kill:"Kill",retry:"Retry"};
function endButton(ac,bN,V,a){const{id:x,name:i,owner:aK}=bN;
const aN={"data-id":x,"data-name":i};
if(a.asked.has(x))return button("asked…",{...aN,"aria-label":`${VERBS[ac]} ${i} ${V}`,disabled:true});
if(!aK)return button(VERBS[ac],{...aN,"data-act":ac,"aria-label":`${VERBS[ac]} ${i} ${V}`});
if(a.doubted!==x){return button(`${VERBS[ac]}…`,{...aN,"data-act":"doubt","data-owner":aK,"aria-label":`${VERBS[ac]} ${i} ${V} of ${aK}`})}
return h("span",{class:"ask nowrap"},button("Keep",{...aN,"data-act":"keep","aria-label":`Keep ${i} of ${aK}`})," ",button(`${VERBS[ac]} it`,{...aN,"data-act":ac,class:"urgent","aria-label":`${VERBS[ac]} ${i} of ${aK} all the same`}))}
function chip(q){return h("span",{class:"chip"},q)}
function empty(q,bb){return h("p",{class:"quiet empty",key:"empty"},q,bb&&" ",bb&&h("code",{},bb))}
function stateCell(cr,O,bc){const b_=bc!=null&&(O==="running"||O==="alive")?` ink c${bc}`:"";
return h("td",{class:`nowrap state ${O}`},h("span",{class:`sign${b_}`,"aria-hidden":"true"},cr),` ${O}`)}
function whereCell(F,a){const aK=F.startsWith("[")?"":F.replace(/ \[\d+\].*/,"");
const ab=aK.length>24?[h("span",{class:"cut",title:aK},aK),F.slice(aK.length)]:[F];
return cell(F&&a.goes(F)?h("button",{type:"button",class:"goes","data-act":"go","data-cell":F,title:"Show the cell"},ab):ab,"nowrap where")}
function cell(a5,U){return h("td",U?{class:U}:{},a5)}
const MOST_CHARACTERS=200_000;
const MOST_LINES=2_000;
function withLog(y,s){const ah=[{text:s.out.text,err:false},{text:s.err.text,err:true}].filter((dH)=>dH.text);
const gap=y&&(s.out.left_out||s.err.left_out)?[{text:"… too much was printed to show all of it …\n",err:true}]:[];
let a$=[...(y?.pieces??[]),...gap,...ah];
let size=a$.reduce((av,{text:q})=>av+q.length,0);
while(size>MOST_CHARACTERS&&a$.length>1){size-=a$[0].text.length;
a$=a$.slice(1)}
return{pieces:a$,out:s.out.to,err:s.err.to,over:s.over,pid:s.pid?String(s.pid):"",done:s.over&&Boolean(y?.over)&&!ah.length,failure:s.failure,yours:s.yours??"",note:s.note,left:y?.left||Boolean(s.out.left_out||s.err.left_out)}}
function logLines(a$){const al=[];
const aC={false:null,true:null};
for(const{text:q,err:aU}of a$){const aa=q.split("\n");
aa.forEach((a_,u)=>{const aX=aC[String(aU)]??{text:"",err:aU};
if(aC[String(aU)]===null&&(a_||u<aa.length-1))al.push(aX);
aX.text+=a_;
aC[String(aU)]=u<aa.length-1?null:al.includes(aX)?aX:null})}
return al.map(({text:q,err:aU})=>({text:plain(q.replace(/\r+$/,"").split("\r").at(-1)?.replaceAll("\t","    ")),err:aU}))}
function logRow(a,Z){const am=a.log;
if(!am)return null;
const p=(a.past.task_log?.data??null);
return h("tr",{key:`log/${am.id}`,class:"logrow"},h("td",{colspan:Z},h("section",{class:"log","aria-label":`Log of ${am.name}`},logHead(am,p),...failureOf(p),printed(am,p))))}
function logHead(am,p){return h("div",{class:"line",key:"head"},h("strong",{},`Log of ${am.name}`),p?.pid&&h("span",{class:"quiet"},`all that its process has printed, pid ${p.pid}`),p&&!p.over&&h("span",{class:"chip"},"live"),h("label",{class:"aside quiet"},"Search ",h("input",{type:"search","data-search":"log",value:am.search,"aria-label":`Search the log of ${am.name}`})),button("Close",{"data-act":"close-log","aria-label":"Close the log"}))}
function failureOf(p){if(!p?.failure)return[];
const aq=h("pre",{tabindex:"0","aria-label":"The whole traceback"},p.failure);
if(!p.yours||p.yours===p.failure)return[h("div",{key:"failure",class:"failure"},aq)];
return[h("div",{key:"failure",class:"failure"},h("pre",{tabindex:"0","aria-label":"Your code in the traceback"},p.yours),h("details",{open:true},h("summary",{},"The whole traceback"),aq))]}
function printed(am,p){if(!p)return h("p",{class:"quiet",key:"none"},"Asking the kernel …");
const J=logLines(p.pieces);
const b1=am.search.trim().toLowerCase();
const aj=b1?J.filter(({text:q})=>q.toLowerCase().includes(b1)):J;
const dC=p.note||(b1&&J.length?"No line has this text.":p.over?"It has printed nothing.":"It has printed nothing yet.");
const cS=[b1&&J.length&&`${aj.length} of ${count(J.length,"line")}`,p.left&&"the beginning is only in %accel_logs",aj.length>MOST_LINES&&`the last ${MOST_LINES} lines`].filter(Boolean);
return h("div",{key:"printed"},cS.length>0&&h("p",{class:"quiet",role:"status"},cS.join(" · ")),aj.length?h("pre",{class:"printed",tabindex:"0","aria-label":"What it has printed"},aj.slice(-MOST_LINES).map(({text:q,err:aU},u)=>h("span",{key:`l${u}`,class:aU?"err":null},`${q}\n`))):h("p",{class:"quiet"},dC))}
function followLog(g,a){const w=a.log?.follow&&g.querySelector(".printed");
if(w)w.scrollTop=w.scrollHeight}
const FIND_EVERY_MS=1000;
const FOUND_AT_FIRST=200;
const MOST_FOUND=1000;
function findKey({filter:C,wide:d4}){return C.state||C.cell||C.text.trim()?JSON.stringify([C,d4]):""}
function foundNow(a){const v=findKey(a);
return v&&a.found?.key===v?a.found:null}
function finder(E,a){let N=0;
let z="";
let az;
const bu=()=>{clearTimeout(az);
az=undefined;
const v=a.details&&a.tab==="tasks"?findKey(a):"";
if(!v)return;
N=Date.now();
z=v;
E.send({say:"find",id:a.id,key:v,filter:a.filter,limit:a.wide?MOST_FOUND:FOUND_AT_FIRST})};
const dr=()=>{if(findKey(a)!==z)bu();
else az??=setTimeout(bu,Math.max(0,N+FIND_EVERY_MS-Date.now()))};
return{find:dr,end:()=>clearTimeout(az)}}
function laneName(f){return`${(f.node_id??"").slice(0,12)}/${f.resource}/${f.id}`}
const KEPT_S=120;
const LETTERS="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const MOST_DEVICES=128;
function hasLines(b){const ae=b.devices??[];
return ae.length<=MOST_DEVICES&&ae.some((row)=>row.metrics)}
function withReadings(y,s){const I=y?.origin===s.origin&&y?.step===s.step_s?y:null;
const ar=s.first+s.steps;
const $=Math.max(ar-Math.round(KEPT_S/s.step_s),I?I.first:s.first);
const al=new Map();
s.devices.forEach((dp,u)=>{const i=s.prefix+dp;
const p=I?.lines.get(i);
const aX=(a_,cq=1)=>Array.from({length:ar-$},(d7,D)=>{const cs=$+D-s.first;
const bj=cs<0?p?.[a_][$+D-(I?.first??0)]:null;
if(cs<0)return bj==null?null:bj*cq;
const aQ=LETTERS.indexOf(s[a_][u*s.steps+cs]);
return aQ<0?null:aQ/(LETTERS.length-1)});
const J={utilisation:aX("utilisation"),memory:aX("memory"),power:aX("power",I?I.watts/s.power_watts:1)};
al.set(i,J).set(i.slice(i.indexOf("/")),J)});
return{since:s.seq,origin:s.origin,step:s.step_s,first:$,watts:s.power_watts,lines:al}}
function linesOf(dK,row){return dK?.lines.get(laneName(row))??null}
function rowsQuestion(a,b){const cF=(x)=>a.past[`rows/${x}`]?.due??0;
const[bD]=(b.runs?.open(a)??[]).sort((L,M)=>cF(L)-cF(M));
return bD?{ask:"rows",key:`rows/${bD}`,record:bD}:null}
function placeOf({ask:bu,key:v}){return bu==="rows"?v:bu}
function withRows(y,s){const rows=new Map(y?.rows);
for(const[v,row]of Object.entries(s.rows))rows.set(v,row);
return{since:s.seq,total:s.total,rows}}
const LAST_MINUTE=60;
const WHOLE_RUN=0;
let views=0;
function newState(dl){views+=1;
return{id:`nbaccel-${views}-${Math.random().toString(36).slice(2,8)}`,details:dl,tab:"devices",filter:{state:"",cell:"",text:""},sort:{column:"",down:false},held:null,order:[],open:new Set(),device:"",scrolled:{top:0,height:460,row:46},sights:new Map(),tiles:undefined,heldSight:"",only:"",wide:false,window:LAST_MINUTE,range:null,shown:{from:0,to:1},lanes:{width:1000,left:110,right:990},room:1000,hover:{bar:"",style:""},rows:new Map(),asked:new Set(),doubted:"",found:null,retries:false,goes:()=>false,said:"",log:null,notices:false,past:{}}}
const LEAST_PAUSE_MS=250;
const LATE_MS=10_000;
const MINUTES_TOLD=3;
function questionOf(a,b,j){const{engine:ca,pid:bl}=b.runtime;
const a4=`${ca} ${bl??""} ${b.nodes?.[0]?.node_id??""}`;
if(a.only)return rowsQuestion(a,b);
const r=a.details?a.tab:"devices";
if(r==="runs")return rowsQuestion(a,b);
if(r==="devices"&&hasLines(b))return{ask:"readings",key:a4};
if(r==="tasks"&&a.log){const[v,p]=[`${a4} ${a.log.id}`,a.past.task_log];
const q=p?.key===v?p.data:null;
return q?.done?null:{ask:"task_log",key:v,task_id:a.log.id,out_since:q?.out??0,err_since:q?.err??0}}
if(r==="accounting")return{ask:"accounting",key:a4};
if(r!=="timeline")return null;
if(a.range)return{ask:"runs",key:`${a4} ${a.range.from} ${a.range.to}`,start:a.range.from,end:a.range.to};
if(a.window===WHOLE_RUN)return{ask:"runs",key:`${a4} all`};
const p=a.past.runs;
const dM=p?.start&&p.key===`${a4} last`&&j-p.start<MINUTES_TOLD*LAST_MINUTE;
return{ask:"runs",key:`${a4} last`,start:dM?p.start:j-a.window}}
function historian(E,a,j){let N=0;
let az;
let z=-LATE_MS;
const dA=()=>{if(Date.now()-z<LATE_MS)return;
z=Date.now();
E.send({say:"past"})};
let by=true;
const aB=()=>{by=true;
clearTimeout(az);
const b=E.snapshot();
const aS=b&&!b.ended?questionOf(a,b,j()):null;
if(!aS)return;
if(!["readings","task_log","rows"].includes(aS.ask)&&!b?.past)return void dA();
const place=placeOf(aS);
const p=a.past[place];
const I=p?.key===aS.key&&p.start===aS.start;
const b3=Math.max(I?p.due:0,N+LEAST_PAUSE_MS)-Date.now();
if(b3>0)return void(az=setTimeout(aB,b3));
N=Date.now();
const l=I||aS.ask==="runs"?(p?.data??null):null;
a.past[place]={key:aS.key,start:aS.start,due:N+LATE_MS,data:l};
E.send({say:"history",id:a.id,...aS,since:I?(l?.since??0):0})};
const bg=(B)=>{const bk=a.past[placeOf(B)];
if(bk?.key!==B.key)return;
const s=JSON.parse(B.answer);
const aG={readings:withReadings,task_log:withLog,rows:withRows}[(B.ask)]??E.snapshot()?.past?.told[B.ask];
if(aG)bk.data=aG(bk.data,s);
bk.due=Date.now()+1000*s.pause_s;
const ds=B.ask==="task_log"||(B.ask==="rows"&&!s.pause_s);
if(ds&&by)aB()};
const ar=()=>{by=false;
clearTimeout(az)};
return{look:aB,heard:bg,end:ar}}
const HEIGHT=16;
function shape(ag,af=false){const b0=ag.map((aQ,D)=>(aQ==null?null:`${D} ${Math.round(10*(HEIGHT-1-aQ*(HEIGHT-2)))/10}`));
let cm="";
let aO=-1;
b0.forEach((b$,D)=>{if(b$!=null)cm+=(b0[D-1]==null?"M":"L")+b$;
if(b$!=null&&b0[D-1]==null)aO=D;
if(b$!=null&&b0[D+1]==null&&af)cm+=`L${D} ${HEIGHT}L${aO} ${HEIGHT}Z`});
return cm}
function spark(al,bm={}){const dW=Math.max(2,...al.map(({levels:ag})=>ag.length));
return h("svg",{class:"spark",viewBox:`0 0 ${dW-1} ${HEIGHT}`,preserveAspectRatio:"none","aria-hidden":"true",...bm},al.map(({levels:ag,kind:U})=>[U==="area"&&h("path",{key:"under",class:"under",d:shape(ag,true)}),h("path",{key:U,class:U,d:shape(ag)})]).flat())}
function between(ag){const p=(ag??[]).filter((aQ)=>aQ!=null);
const aR=(aQ)=>`${Math.round(100*aQ)} %`;
return p.length>1?`between ${aR(Math.min(...p))} and ${aR(Math.max(...p))} in the last two minutes`:""}
const GROUPS=8;
const GAP_PX=4;
function drawTiles(c,a){const{devices:ae,devicesBefore:b8,deviceTotal:be}=c;
const inSight=ae.length<be?a.tiles??{row:40,columns:20}:null;
const al=(n)=>Math.ceil(n/(inSight?.columns??1))*(inSight?.row??0);
const cN=ae.some((f)=>f.lines);
const aY=h("ul",{class:cN?"tiles lined":"tiles","aria-label":"Devices"},emptyLines("above",al(b8)),ae.map((f,u)=>knownTile(f,inSight?b8+u+1:0,be,a)),emptyLines("below",al(be)-al(b8+ae.length)));
return h("div",{key:"tiles"},inSight?h("div",{class:"scroll of-tiles",role:"region",tabindex:"0","aria-label":`${be} devices`},aY):aY,h("p",{class:"quiet small",key:"holders"},heldWords(c.heldBy),cN&&" · Lines: load (filled), memory and power (dotted) of the last two minutes."),cardOf(ae.find((f)=>f.key===a.hover.bar),a))}
function emptyLines(bM,ax){return ax>GAP_PX&&h("li",{key:bM,class:"gap","aria-hidden":"true",style:`height:${ax-GAP_PX}px`})}
function cardOf(f,a){if(!f)return null;
const{node:e,label:V,model:A,holders,utilisation,memory,facts,reason:dL}=f;
const ay=holders.map((k)=>h("div",{key:k.key},h("span",{class:`swatch c${k.colour}`}),h("strong",{},k.name)," ",[k.part,k.cell&&`cell ${k.cell}`,k.owner,k.age].filter(Boolean).join(" · ")));
return h("div",{class:"hover",key:"hover",style:a.hover.style,"aria-hidden":"true"},h("strong",{},[e,V].filter(Boolean).join(" ")),` ${f.state}`,ay,h("div",{class:"quiet small"},[utilisation?.text,memory?.text,facts,between(f.lines?.utilisation),dL].filter(Boolean).join(" · ")||A))}
function knownTile(f,place,W,a){const ad=f.key===a.device;
const F=tileWords(f);
const a5=[F,ad,place,f.holders.map((k)=>`${k.colour}/${k.fraction}`)].join("\n");
const p=a.rows.get(`tile ${f.key}`);
if(p?.content===a5&&p.of===f.lines)return p.shape;
const shape=tile(f,F,ad,place?{"aria-posinset":place,"aria-setsize":W}:{});
a.rows.set(`tile ${f.key}`,{content:a5,shape,of:f.lines});
return shape}
function tile(f,F,ad,cn){const n=f.label.replace(/^\S+ /,"");
const aa=f.holders.map((k)=>h("span",{class:`part c${k.colour}`,style:`width:${100*k.fraction}%`}));
return h("li",{key:f.key,...cn},h("button",{type:"button",class:"tile","data-act":"tile","data-device":f.key,"data-bar":f.key,"aria-expanded":String(ad),"aria-label":F},h("span",{class:"number"},n),f.utilisation&&h("span",{class:"load quiet"},f.utilisation.text),h("span",{class:"bar"},aa),f.lines&&spark(linesIn(f.lines))))}
function linesIn({utilisation,memory,power}){return[{levels:utilisation,kind:"area"},{levels:memory,kind:"line"},{levels:power,kind:"dots"}]}
function tileWords(f){const holders=f.holders.map((k)=>[k.name,k.part,k.cell&&`cell ${k.cell}`,k.owner].filter(Boolean).join(" "));
const facts=[f.utilisation?.text,f.memory?.text,f.facts,between(f.lines?.utilisation),f.reason].filter(Boolean);
return`${[f.node,f.label].filter(Boolean).join(" ")}, ${f.state}${holders.length?`: ${holders.join("; ")}`:""}${facts.map((dq)=>`, ${dq}`).join("")}`}
function heldWords(aJ){const au=aJ.length>GROUPS?[`and ${aJ.length-GROUPS} more`]:[];
return aJ.length?`Held by ${[...aJ.slice(0,GROUPS),...au].join(", ")}`:"Nobody holds one."}
const MOST_ROWS=8;
function drawDevices(c,a){if(!c.deviceTotal){return[empty(["No accelerator.",...c.found,"This counts two logical ones:"].join(" "),"nbaccel.init(num_gpus=2)")]}
if(c.deviceTotal<=MOST_ROWS)return[models(c),rows(c.devices,c,a)];
return[models(c),drawTiles(c,a),c.chosenDevice&&rows([c.chosenDevice],c,a)]}
function models({sameModel:dP,deviceTotal:be,devices:ae}){if(!dP)return null;
const[{model:A,mark:cP}]=ae;
return h("p",{class:"quiet small models",key:"models"},`${be} × ${A} `,cP&&chip(cP))}
function rows(ae,c,a){const bW=ae.some((f)=>f.utilisation||f.memory);
const bn=ae.some((f)=>f.node);
const ah=c.sameModel;
const Z=["Device",...(bn?["Node"]:[]),c.ended?"State":"In use",...(bW?["Load, memory, power"]:[]),...(c.ended?[]:["Held by"])];
return table("Devices",Z,ae.map((f)=>row(f,{several:bn,measured:bW,said:ah},c,a)))}
function row(f,{several:bn,measured:bW,said:ah},c,a){return h("tr",{key:f.key,"data-device":f.label},h("th",{scope:"row",title:f.title||null},h("span",{class:"label"},f.label),!ah&&f.mark&&chip(f.mark),!ah&&h("span",{class:"quiet small model"},f.model)),bn&&h("td",{class:"quiet"},f.node),h("td",{class:"use"},!c.ended&&useBar(f),h("span",{class:"nowrap"},h("span",{class:"sign","aria-hidden":"true"},f.sign),` ${f.state}`)),bW&&h("td",{class:"load",title:f.facts},meter("utilisation",f,f.utilisation),meter("memory",f,f.memory),f.power&&meter("power",f,f.power)),!c.ended&&h("td",{class:"holders"},holders(f,c,a)))}
function useBar(f){const aa=f.holders.map((k)=>h("span",{key:k.key,class:`part c${k.colour}`,style:`width:${100*k.fraction}%`}));
return h("div",{class:"bar",role:"img","aria-label":`${f.label}: ${f.use}`,title:f.use},aa)}
function meter(br,f,H){if(!H)return h("div",{class:"measure quiet small"},`${br} unknown`);
const aR=Math.min(100,Math.max(0,Math.round(H.percent)));
const i=`${f.label} ${br}`;
const ag=f.lines?.[br];
const ah={title:[br,between(ag)].filter(Boolean).join(": ")};
const Y=ag?spark([{levels:ag,kind:"area"}]):h("span",{class:"part",style:`width:${aR}%`});
const cq=br==="power"?{role:"img","aria-label":`${i} ${H.text}`}:{role:"meter","aria-label":i,"aria-valuemin":"0","aria-valuemax":"100","aria-valuenow":aR,"aria-valuetext":H.text};
return h("div",{class:"measure",...ah},br==="power"&&!ag?null:h("div",{class:ag?"trend":"bar",...cq},Y),h("span",{class:"small"},H.text))}
function holders(f,c,a){const aY=f.holders.map((k)=>holderLine(k,f,c,a));
return[aY.length>0&&h("ul",{},aY),f.reason&&h("span",{class:"quiet"},f.reason)]}
function holderLine(k,f,c,a){const bM=[k.cell&&`cell ${k.cell}`,k.owner].filter(Boolean).join(" of ");
const facts=[k.part,bM,k.age].filter(Boolean).join(" · ");
return h("li",{key:k.key,title:k.pid},h("span",{class:`swatch c${k.colour}`,"aria-hidden":"true"}),h("span",{class:"who"},nameOf(k.name),h("span",{class:"quiet facts"},facts)),(k.taskId||k.actorId)&&stop(k,f,a))}
function stop(k,f,a){const ac=k.taskId?"cancel":"kill";
return endButton(ac,{id:k.taskId||k.actorId,name:k.name,owner:k.owner},`on ${f.label}`,a)}
function cancelMany(V,x,C,ck,a){const bN=ck?` ${ck}`:"";
const aN={key:x,"data-id":x,"data-name":V+bN,"data-function":ck,"data-state":C.state,"data-cell":C.cell,"data-text":C.text};
if(a.doubted!==x)return button(`${V}…`,{...aN,"data-act":"sure","aria-label":`${V}${bN}…`});
return h("span",{class:"ask nowrap",key:x},button("Keep",{...aN,key:"keep","data-act":"keep"})," ",button(V,{...aN,key:"do","data-act":"cancel-many",class:"urgent","aria-label":V+bN}))}
const PALETTE={hues:[["#2f96e3","#288dd6","#1a83cc"],["#da7360","#ce6b59","#c46250"],["#05948b","#008a82","#269d94"],["#af80c0","#a578b5","#9b6fac"],["#899500","#808c00","#778200"],["#7672c9","#6e6abd","#7f7cd1"],["#317f40","#3d884a","#479153"],["#9d5599","#a35b9f","#a962a4"]],failure:"#ec1c24",attention:"#c77700",waiting:"#808080",grounds:["#ffffff","#212121"]};
const HUES=PALETTE.hues.length;
const SHADES=PALETTE.hues[0].length;
function numberOf(q){let bS=2166136261;
for(let cc=0;cc<q.length;cc++)bS=Math.imul(bS^q.charCodeAt(cc),16777619);
return(bS^(bS>>>15))>>>0}
function colourOf(b,aT,x){const dw=b.hues?.[aT]??numberOf(aT)%HUES;
return dw*SHADES+(x?numberOf(x)%SHADES:0)}
function subjectOf(row){const aq=row.function||row.name;
return(row.kind??"task")==="task"?aq:aq.split(".",1)[0]}
function colourRules(dQ){return PALETTE.hues.flat().map((bc,n)=>`${dQ} .c${n}{background:${bc};fill:${bc};--c:${bc}}`).join("\n")}
const STATES=["running","waiting","failed","cancelled","finished"];
function taskCounts(b){const G=Object.fromEntries(STATES.map((a)=>[a,0]));
for(const[a,n]of Object.entries(b.counts??{})){const O=stateWord(a);
G[O]=(G[O]??0)+n}
return G}
function waitingViews(b,j){return(b.tasks??[]).filter((row)=>stateWord(row.state)==="waiting").sort((L,M)=>(L.submitted_at??0)-(M.submitted_at??0)).map((row)=>taskView(row,b,j))}
function taskViews(b,C,j){const q=C.text.trim().toLowerCase();
const rows=(b.tasks??[]).filter((row)=>passes(row,b,C,q));
return rows.map((row)=>taskView(row,b,j))}
function passes(row,b,C,q){if(C.state&&stateWord(row.state)!==C.state)return false;
if(C.cell&&cellOf(row,b)!==C.cell)return false;
if(!q)return true;
return[row.name,row.task_id,row.cell,whyOf(row,b),deviceWords(row.device_ids)].some((R)=>(R??"").toLowerCase().includes(q))}
function cellOf(row,b){return row.cell?cellWords(b,{job:row.job,cell:row.cell.split(" ")[0]}):""}
function cellsOf(b){const n=(cell)=>Number(/\[(\d+)\]$/.exec(cell)?.[1]??0);
const b_=(cell)=>(cell.startsWith("[")?0:1);
const df=new Set((b.tasks??[]).map((row)=>cellOf(row,b)).filter(Boolean));
return[...df].sort((L,M)=>b_(L)-b_(M)||n(L)-n(M))}
function whyOf(row,b){return row.reason==null?(row.why??""):(b.reasons?.[row.reason]??"")}
function withoutSubject(bs,row){const i=plain(row.name).replace(/\.__init__$/,"");
const cell=plain(row.cell);
if(!bs.startsWith(i))return bs;
let aE=bs.slice(i.length+1);
if(cell&&aE.startsWith(`(cell ${cell}`))aE=aE.slice(aE.indexOf(") ")+2);
if(aE.startsWith("waits for "))return aE.includes(". ")?aE.slice(aE.indexOf(". ")+2):aE;
return aE.startsWith("asks ")?aE:bs}
function taskView(row,b,j){const a=stateWord(row.state);
const cZ=a==="waiting"?row.submitted_at:(row.started_at??row.submitted_at);
const aD=ENDED.has(row.state);
return{id:row.task_id,short:shortId(row.task_id),name:plain(row.name),sign:stateSign(a),state:a,devices:deviceWords(row.device_ids),pid:row.pid?String(row.pid):"",cell:cellWords(b,row),owner:ownerOf(b,row),age:cZ==null?"":age((row.finished_at??j)-cZ),started:row.started_at==null?"":clock(row.started_at,j),took:tookWords(row,a,j),subject:plain(subjectOf(row)),colour:colourOf(b,subjectOf(row),row.actor_id||row.task_id),keys:{submitted:row.submitted_at??0,started:row.started_at??Infinity,took:row.started_at==null?-1:(row.finished_at??j)-row.started_at},peak:row.peak_memory_bytes==null?"":size(row.peak_memory_bytes),why:[row.retry_of&&`retry of #${shortId(row.retry_of)}`,row.choice?`runs as ${plain(row.choice)}`:"",withoutSubject(plain(whyOf(row,b)),row)].filter(Boolean).join(": "),retryable:Boolean(row.retryable),asks:Object.keys(row.demand??{}).length?demandWords(row.demand):"",cancellable:!aD&&row.state!=="ENDED_WITH_IT"}}
function tookWords(row,a,j){if(row.started_at==null)return a==="waiting"&&row.submitted_at!=null?`waits ${age(j-row.submitted_at)}`:"";
const ap=(row.finished_at??j)-row.started_at;
if(row.finished_at!=null)return duration(ap);
const[_,W]=row.progress??[0,0];
if(!W)return age(ap);
const aA=_>0&&_<W?`${age((ap*(W-_))/_)} left`:"";
return[age(ap),`${Math.round((100*_)/W)} %`,aA].filter(Boolean).join(" · ")}
function actorViews(b,j){return(b.actors??[]).map((row)=>actorView(row,b,j))}
function actorView(row,b,j){const a=row.state==="PENDING_CREATION"?"waiting":stateWord(row.state);
return{id:row.actor_id,name:plain(row.class_name)+(row.name?` “${plain(row.name)}”`:""),sign:stateSign(a),state:a,devices:deviceWords(row.device_ids),pid:row.pid?String(row.pid):"",cell:cellWords(b,row),owner:ownerOf(b,row),age:row.since==null?"":age(j-row.since),colour:colourOf(b,row.class_name,row.actor_id),calls:row.pending_calls?String(row.pending_calls):"",why:[row.restarts?`restarted ${row.restarts} ×`:"",plain(row.why)].filter(Boolean).join(" · "),alive:row.state!=="DEAD"}}
const MOST_OF_ONE=8;
const ORDER=["running","failed","waiting","cancelled","finished"];
const OVERSCAN=12;
const KEYS={task:(d)=>`${d.name}\n${d.short}`,state:(d)=>place(d.state),devices:(d)=>d.devices||"~",started:(d)=>d.keys.started,took:(d)=>d.keys.took};
function place(a){const D=ORDER.indexOf(a);
return D<0?ORDER.length:D}
function ordered(Q,bo,ay){const v=KEYS[bo.column];
const c7=(L,M)=>place(L.state)-place(M.state)||M.keys.submitted-L.keys.submitted;
const di=(L,M)=>{if(!v)return c7(L,M);
const[cU,cW]=[v(L),v(M)];
const bL=cU<cW?-1:cU>cW?1:0;
return(bo.down?-bL:bL)||c7(L,M)};
const bH=[...Q].sort(di);
if(!ay)return bH;
const y=new Map(ay.map((x,u)=>[x,u]));
return bH.sort((L,M)=>(y.get(L.id)??ay.length)-(y.get(M.id)??ay.length))}
function grouped(Q,aC){const b6=new Map();
for(const d of Q){const I=b6.get(d.subject);
if(I)I.push(d);
else b6.set(d.subject,[d])}
const rows=[];
for(const d of Q){const I=b6.get(d.subject)??[];
if(I.length<=MOST_OF_ONE)rows.push({task:d,inGroup:false});
else if(I[0]===d)rows.push(...groupRows(I,aC.has(d.subject)))}
return rows}
function groupRows(Q,aC){const G=new Map();
for(const d of Q)G.set(d.state,(G.get(d.state)??0)+1);
const _=G.get("finished")??0;
const bZ=STATES.filter((a)=>a!=="finished"&&G.get(a)).map((a)=>`${G.get(a)} ${a}`);
const at={subject:Q[0].subject,tasks:Q,open:aC,done:_,words:[`${_} of ${Q.length}`,...bZ].join(" · ")};
return[{group:at},...(aC?Q.map((d)=>({task:d,inGroup:true})):[])]}
function alike(aH){const aV=new Map();
for(const d of aH){const v=`${d.name}\n${d.why}\n${d.asks}`;
const at=aV.get(v)??{task:d,number:0,ids:[]};
at.number+=1;
at.ids.push(d.id);
aV.set(v,at)}
return[...aV.values()].sort((L,M)=>M.number-L.number)}
function inSight(n,aF){const bF=Math.ceil(aF.height/aF.row)+2*OVERSCAN;
const $=Math.max(0,Math.min(Math.floor(aF.top/aF.row)-OVERSCAN,n-bF));
return{first:$,last:Math.min(n,$+bF)}}
function drawWaiting(c,a){if(!c.counts.waiting)return[empty("Nothing waits. A task that finds no free device waits here, with the reason:","train.options(num_gpus=1).remote()")];
const aV=alike(c.waiting);
const rows=aV.map(({task:d,number:n})=>h("tr",{key:d.id,"data-task":d.id},nameCell(d,n),cell(d.asks,"nowrap"),whereCell(d.cell,a),cell(d.age,"short"),cell(d.why||h("span",{class:"quiet"},"asked for, not looked at yet"),"why"),cell(n>1?showAll(d,n):cancel(d,c,a),"acts")));
const au=c.counts.waiting-c.waiting.length;
return[rows.length>0&&table("Waiting tasks",["Task","Asks for","Cell","For","Why it waits",""],rows),au>0&&moreLine(`and ${au} more that wait`,a),c.counts.waiting>1&&!c.ended&&h("p",{key:"all"},cancelMany("Cancel all that wait","waiting",{state:"waiting",cell:"",text:""},"",a))]}
function showAll(d,n){return button(`Show all ${n}`,{"data-act":"count","data-state":"waiting","data-text":d.name,"aria-label":`Show all ${n} ${d.name} that wait`})}
function nameCell(d,n){return h("th",{scope:"row"},nameOf(d.name),h("span",{class:"quiet small below"},n>1?`× ${n}`:`#${d.short}`))}
function cancel(d,c,a){if(!d.cancellable||c.ended)return null;
return endButton("cancel",d,`#${d.short}`,a)}
function moreLine(q,a){return h("p",{class:"more",key:"unsent"},h("span",{class:"quiet"},`${q} `),!a.wide&&button("Ask for more rows",{"data-act":"ask-more"}))}
function drawActors(c,a){if(!c.actors.length)return[empty("No actor. A remote class that is called makes one:","Counter.remote()")];
const rows=c.actors.map((S)=>h("tr",{key:S.id,"data-actor":S.id},h("th",{scope:"row"},nameOf(S.name),h("span",{class:"quiet small below"},[`#${S.id.slice(0,8)}`,S.pid&&`pid ${S.pid}`].filter(Boolean).join(" · "))),stateCell(S.sign,S.state,S.colour),cell(S.devices,"nowrap"),whereCell(S.cell,a),cell(S.age,"short"),h("td",{"data-head":"calls waiting"},S.calls),cell(S.why,"why"),cell(S.alive&&!c.ended&&endButton("kill",S,`#${S.id.slice(0,8)}`,a),"acts")));
return[table("Actors",["Actor","State","Devices","Cell","Age","Calls waiting","Why",""],rows),c.actorsMore>0&&h("p",{class:"quiet more",key:"more"},`and ${c.actorsMore} more actors`)]}
function drawAlerts(c){if(!c.alerts.length)return[empty("No alert. Failures, leaks, lost devices and requests that can never be met are told here, such as:","f.options(num_gpus=1000).remote()")];
return[h("ul",{class:"alerts",key:"alerts"},c.alerts.map((X)=>h("li",{key:X.key},h("strong",{},h("span",{"aria-hidden":"true"},"⚠ "),X.kind),` ${X.message}`,h("span",{class:"quiet"},` ${X.age} ago`))))]}
function drawNodes(c){const rows=c.nodes.map((e)=>h("tr",{key:e.key},h("th",{scope:"row"},h("span",{class:"name"},e.name)),stateCell(e.sign,e.state),cell(e.role),cell(e.resources),cell(e.why,"why")));
return[table("Nodes",["Node","State","Role","Resources","Why"],rows)]}
function drawTasks(c,a){const af={peak:c.tasks.some((d)=>d.peak),why:c.tasks.some((d)=>d.why)};
a.order=c.tasks.map((d)=>d.id);
const rows=a.sort.column?c.tasks.map((d)=>({task:d,inGroup:false})):grouped(c.tasks,a.open);
const dv=c.tasksFound-c.tasks.length;
const d1=c.foundInAll?dv:c.taskTotal-c.taskRows;
return[filters(c,a),rows.length?tableOf(rows,af,c,a):nothingFound(c),d1>0&&moreLine(`${c.tasks.length} of ${c.foundInAll?c.tasksFound:c.taskTotal} tasks are here`,a)]}
function tableOf(rows,af,c,a){const Z=[{name:"Task",sort:"task"},{name:"State",sort:"state"},{name:"Devices",sort:"devices"},"Cell",{name:"Started",sort:"started"},{name:"Took",sort:"took"},...(af.peak?["Peak memory"]:[]),...(af.why?["Why"]:[]),""];
const{first:$,last:N}=inSight(rows.length,a.scrolled);
const Y=rows.slice($,N).flatMap((row)=>{if("group"in row)return[groupRow(row.group,Z.length,c,a)];
const shape=knownRow(row.task,row.inGroup,af,c,a);
return a.log?.id===row.task.id?[shape,logRow(a,Z.length)]:[shape]});
const{row}=a.scrolled;
return table("Tasks",Z,[gap("above",$*row),...Y,gap("below",(rows.length-N)*row)].filter(Boolean),{rows:rows.length,sort:a.sort})}
function gap(bM,ax){return ax>0&&h("tr",{key:bM,class:"gap","aria-hidden":"true",style:`height:${Math.round(ax)}px`})}
function nothingFound(c){if(!c.taskTotal)return empty("No task yet. A remote function that is called makes one:","f.remote()");
return empty(c.foundInAll?"No task passes the filter.":"No task of these rows passes the filter.")}
function groupRow(at,Z,c,a){const{subject:aT,tasks:Q,open:aC,done:_,words:F}=at;
const dG=c.taskTotal>c.taskRows&&!c.foundInAll?` (of the ${c.taskRows} rows that are here)`:"";
return h("tr",{key:`group/${aT}`,class:"group","data-function":aT},h("th",{scope:"row",colspan:Z},h("button",{type:"button",class:"opens","data-act":"group","data-function":aT,"aria-expanded":String(aC)},h("span",{"aria-hidden":"true"},aC?"▾ ":"▸ "),nameOf(aT)),h("span",{class:"bar","aria-hidden":"true"},h("span",{class:`part c${Q[0].colour}`,style:`width:${(100*_)/Q.length}%`})),h("span",{class:"quiet"},F+dG),!c.ended&&Q.some((d)=>d.cancellable)&&cancelMany("Cancel all",`group/${aT}`,a.filter,aT,a)))}
function knownRow(d,bT,af,c,a){const a5=[...Object.values(d),bT,af.peak,af.why,c.ended,a.asked.has(d.id),a.doubted===d.id,a.log?.id===d.id].join("\n");
const p=a.rows.get(d.id);
if(p?.content===a5)return p.shape;
const shape=taskRow(d,bT,af,c,a);
a.rows.set(d.id,{content:a5,shape});
return shape}
function taskRow(d,bT,af,c,a){const b5=[`#${d.short}`,d.pid&&`pid ${d.pid}`].filter(Boolean).join(" · ");
return h("tr",{key:d.id,"data-task":d.id,class:bT?"inner":null},h("th",{scope:"row"},nameOf(d.name),h("span",{class:"quiet small below"},b5)),stateCell(d.sign,d.state,d.colour),cell(d.devices||d.asks,d.devices?"nowrap":"quiet nowrap"),whereCell(d.cell,a),cell(d.started,"nowrap"),tookCell(d.took),af.peak&&cell(d.peak,"nowrap"),af.why&&cell(d.why&&h("span",{class:"two-lines",title:d.why},d.why),d.why?"why":""),cell([cancel(d,c,a),d.retryable&&a.retries&&!c.ended&&endButton("retry",d,`#${d.short}`,a),logs(d,c,a)],"acts"))}
function tookCell(d_){const[bI,...cH]=d_.split(" · ");
return cell([bI,cH.length>0&&[" ",h("span",{class:"quiet small below"},cH.join(" · "))]].flat(),"short")}
function logs(d,c,a){if(d.state==="waiting"||c.ended)return null;
return button("Log",{"data-act":"logs","data-id":d.id,"data-name":d.name,"aria-expanded":String(a.log?.id===d.id),"aria-label":`Log of ${d.name} #${d.short}`})}
function filters(c,a){const{filter:C}=a;
const bY=(H,V,ad)=>h("option",{key:H||"all",value:H,selected:H===ad},V);
return h("div",{class:"filters",role:"group","aria-label":"Filter tasks",key:"filters"},h("label",{},"State ",h("select",{"data-filter":"state",value:C.state},bY("","all",C.state),STATES.map((O)=>bY(O,`${O} (${c.counts[O]??0})`,C.state)))),h("label",{},"Cell ",h("select",{"data-filter":"cell",value:C.cell},bY("","all",C.cell),c.cells.map((i)=>bY(i,i,C.cell)))),h("label",{},"Text ",h("input",{type:"search","data-filter":"text",value:C.text,placeholder:"name, id, reason"})),(C.state||C.cell||C.text)&&!c.ended&&c.tasks.some((d)=>d.cancellable)&&cancelMany("Cancel all of these","these",C,"",a),!c.ended&&button("Notify me",{"data-act":"notices",class:"aside","aria-pressed":String(a.notices),title:"A notice of the browser when a task of more than a minute ends or fails"}),a.sort.column&&button("In the usual order",{"data-act":"sort","data-column":""}))}
const VIEWS={devices:drawDevices,waiting:drawWaiting,tasks:drawTasks,actors:drawActors,timeline:(c,a)=>c.pastViews?.drawTimeline(c,a)??loading(c),accounting:(c)=>c.pastViews?.drawAccounts(c)??loading(c),alerts:drawAlerts,nodes:drawNodes,runs:(c,a)=>c.runs?.draw(a)??[]};
const WAITING_SHOWN=3;
const ALERTS_SHOWN=2;
function drawFrame(c,a){const bv=a.details?[tabs(c,a),panel(c,a)]:compact(c,a);
return[header(c,a),...bv,h("p",{class:"said",key:"said",role:"status","aria-live":"polite"},a.said)]}
function drawOnly(c,a){const ab=c.runs?.only(a).flat()??[];
return[...(ab.length?ab:drawEmpty("Waiting for news of it …")),h("p",{class:"said",key:"said",role:"status","aria-live":"polite"},a.said)]}
function drawEmpty(F){return[h("p",{class:"quiet",key:"none"},F)]}
function loading(c){return[empty(c.ended?"This view was not opened before the end.":"Asking the kernel …")]}
function header(c,a){return h("header",{key:"header"},h("div",{class:"line"},firstLine(c),c.ended&&h("span",{class:"chip"},c.ended),c.alerts.length>0&&h("span",{class:"chip urgent"},h("span",{"aria-hidden":"true"},"⚠ "),c.alerts.length===1?"1 alert":`${c.alerts.length} alerts`),button(a.details?"Less":"Details",{"data-act":"details","aria-expanded":String(a.details),class:"aside"})),c.resources.length>0&&h("div",{class:"line quiet"},c.resources.join(" · ")))}
function firstLine(c){const G=Object.entries(c.counts).filter(([,n])=>n);
const aa=[...c.busy.map((F)=>h("strong",{key:F},F)),...G.map(([O,n])=>button(`${n} ${O}`,{key:O,class:`count ${O}`,"data-act":"count","data-state":O,title:`Show the ${O} tasks`}))];
const ah=aa.flatMap((a_,u)=>(u?[h("span",{key:`dot${u}`,class:"quiet"}," · "),a_]:[a_]));
return h("span",{class:"first",title:c.title.join(" · ")},ah,!G.length&&h("span",{class:"quiet"},ah.length?" · no task yet":"no task yet"))}
function compact(c,a){const aG=new Set(c.alerts.slice(0,ALERTS_SHOWN).map((X)=>X.never));
const J=alike(c.waiting);
const c6=J.filter(({ids:bh})=>!bh.some((x)=>aG.has(x)));
const aV=c6.slice(0,WAITING_SHOWN);
const aH=aV.map(({task:d,number:n})=>h("li",{key:d.id},h("span",{class:"sign","aria-hidden":"true"},"◌ "),n>1&&`× ${n} `,nameOf(d.name),` waits ${d.age}: `,h("span",{class:"quiet"},d.why||d.asks)));
const ah=J.filter((at)=>!c6.includes(at)||aV.includes(at));
const au=c.counts.waiting-ah.reduce((av,at)=>av+at.number,0);
if(au>0)aH.push(h("li",{key:"more",class:"quiet"},`and ${au} more that wait`));
const cQ=c.nodes.filter((e)=>e.moves).map((e)=>h("li",{key:e.key},h("span",{class:"sign","aria-hidden":"true"},`${e.sign} `),nameOf(e.name),` ${e.state} `,h("span",{class:"quiet"},e.why)));
const bt=c.alerts.slice(0,ALERTS_SHOWN).map((X)=>h("li",{key:X.key},h("strong",{},"⚠ Attention:"),` ${X.message}`));
return[...drawDevices(c,a),...(c.runs?.brief(a)??[]),cQ.length>0&&h("ul",{class:"lines",key:"nodes","aria-label":"Nodes that come and go"},cQ),aH.length>0&&h("ul",{class:"lines",key:"waiting","aria-label":"Waiting tasks"},aH),bt.length>0&&h("ul",{class:"alerts",key:"alerts","aria-label":"Alerts"},bt)]}
function tabs(c,a){return h("div",{class:"tabs",role:"tablist","aria-label":"Views",key:"tabs"},c.tabs.map((P)=>{const ad=P.id===a.tab;
return h("button",{type:"button",key:P.id,role:"tab",id:`${a.id}-${P.id}`,"aria-selected":String(ad),"aria-controls":`${a.id}-panel`,tabindex:ad?"0":"-1","data-act":"tab","data-tab":P.id},P.urgent&&h("span",{"aria-hidden":"true"},"⚠ "),P.label,P.badge>0&&h("span",{class:P.failed?"badge failed":"badge",title:P.failed?"failed":null},String(P.badge)))}))}
function panel(c,a){const r=VIEWS[a.tab]??drawDevices;
return h("div",{role:"tabpanel",id:`${a.id}-panel`,"aria-labelledby":`${a.id}-${a.tab}`,tabindex:"-1",key:`panel-${a.tab}`,class:"panel"},...r(c,a).flat())}
const LONG_ID=20;
function deviceLabels(rows){const U=(row)=>`${row.node_id??""}/${row.resource}`;
const aw=new Set(rows.filter((row)=>!row.parent).map((row)=>`${U(row)}/${row.id}`));
const cA=new Map();
const bx=new Map();
for(const row of rows){if(!row.parent){bx.set(row,`${plain(row.resource)} ${short(row.id)}`);
continue}
const v=`${U(row)}/${row.parent}`;
const b7=cA.get(v)??{number:firstFree(U(row),aw),instances:0};
cA.set(v,b7);
const dJ=row.profile?` (${plain(row.profile)})`:"";
bx.set(row,`${plain(row.resource)} ${b7.number} · MIG ${b7.instances++}${dJ}`)}
return bx}
function firstFree(U,aw){let n=0;
while(aw.has(`${U}/${n}`))n+=1;
aw.add(`${U}/${n}`);
return n}
function short(x){return plain(x).length>LONG_ID?`${plain(x).slice(0,12)}…`:plain(x)}
const MOST_TILES=128;
const LINES_BEYOND=1;
function devicesOf(b,j,z){const rows=(b.devices??[]).filter((row)=>row.offered!==false);
const bn=new Set(rows.map((row)=>row.node_id)).size>1;
const aJ=new Map((b.nodes??[]).map((e)=>[e.node_id,plain(e.name)]));
const r=(row)=>({...deviceView(row,bx.get(row)??"",bn?(aJ.get(row.node_id??"")??row.node_id?.slice(0,8)??""):"",b,j),lines:row.metrics?linesOf(z?.past?.readings?.data,row):null});
const{first:$,last:N}=tilesInSight(rows.length,z?.tiles);
const Y=rows.slice($,N);
const ad=z?.device?rows.find((row)=>deviceKey(row)===z.device):null;
const bx=deviceLabels(rows.some((row)=>row.parent)?(b.devices??[]):ad?[...Y,ad]:Y);
return{devices:z?Y.map(r):[],devicesBefore:$,deviceTotal:rows.length,sameModel:rows.length>1&&new Set(rows.map(modelOf)).size===1,chosenDevice:ad?r(ad):null,heldBy:heldBy(rows)}}
function tilesInSight(W,dU={top:0,height:460,row:40,columns:20}){if(W<=MOST_TILES)return{first:0,last:W};
const{top:bq,height:ax,row,columns:Z}=dU;
const N=Math.min(W,Z*(Math.ceil((bq+ax)/row)+LINES_BEYOND));
return{first:Math.max(0,Math.min(Math.floor(bq/row)-LINES_BEYOND,Math.floor(W/Z)))*Z,last:N}}
function heldBy(rows){const cj=new Map();
for(const row of rows)for(const{name:i}of row.holders??[])cj.set(i,(cj.get(i)??0)+1);
return[...cj].sort((L,M)=>M[1]-L[1]).map(([i,n])=>plain(i)+(n>1?` × ${n}`:""))}
function deviceKey(row){return`${row.node_id??""}/${row.resource}/${row.id}`}
function modelOf(row){return`${row.name||row.type||row.family}·${row.parent?"":(row.profile??"")}·${row.kind??"real"}`}
function deviceView(row,V,e,b,j){const[cr,a]=deviceState(row);
const holders=holderViews(row.holders??[],b,j);
return{key:deviceKey(row),label:V,title:row.parent?plain(row.id):"",node:e,model:[plain(row.name||row.type||row.family),row.parent?"":plain(row.profile)].filter(Boolean).join(" · "),mark:(row.kind??"real")==="real"?"":(row.kind??""),sign:cr,state:a,use:useWords(holders),utilisation:utilisation(row),memory:memory(row),power:power(row),facts:facts(row),reason:plain(row.free_reason),holders}}
function deviceState(row){const ay=row.holders?.length;
if(row.over)return["–","given back"];
if(row.free_reason&&!ay)return["✕","busy"];
if(!ay)return["○","free"];
return(row.free??1)>0?["◐","shared"]:["●","held"]}
function holderViews(holders,b,j){const bh=holders.map((k)=>k.task_id??k.actor_id??k.name);
return holders.map((k,u)=>({key:bh[u],name:plain(k.name),part:(k.amount??1)===1?"":amount(k.amount??1),cell:plain(k.cell),owner:ownerOf(b,k),age:k.since?age(j-k.since):"",pid:k.pid?`pid ${k.pid}`:"",colour:colourOf(b,k.function||k.name,k.actor_id??bh[u]),fraction:Math.min(1,Math.max(0,k.amount??1)),taskId:k.task_id??"",actorId:k.task_id?"":(k.actor_id??"")}))}
function useWords(holders){if(!holders.length)return"nobody holds it";
return holders.map((k)=>`${k.name} ${k.part||"1"}`).join(", ")}
function utilisation(row){const aR=row.metrics?.utilisation_percent;
return aR==null?null:{percent:aR,text:`${Math.round(aR)} %`}}
function memory(row){const cx=row.metrics?.memory_used_bytes;
const W=row.metrics?.memory_total_bytes??row.memory_bytes;
if(cx==null||!W)return null;
return{percent:(100*cx)/W,text:`${size(cx)} of ${size(W)}`}}
function power(row){const c9=row.metrics?.power_watts;
return c9==null?null:{percent:0,text:`${Math.round(c9)} W`}}
function facts(row){const aa=[];
if(row.metrics?.temperature_celsius!=null)aa.push(`${Math.round(row.metrics.temperature_celsius)} °C`);
if(row.metrics?.power_watts!=null)aa.push(`${Math.round(row.metrics.power_watts)} W`);
return aa.join(" · ")}
function afterEnd(b){const{shared:b2}=b.runtime;
const ce=(a)=>(ENDED.has(a)?a:"ENDED_WITH_IT");
const Q=(b.tasks??[]).map((row)=>({...row,state:ce(row.state),reason:ENDED.has(row.state)?row.reason:null}));
const G={};
for(const[a,n]of Object.entries(b.counts??{}))G[ce(a)]=(G[ce(a)]??0)+n;
if(b2)delete G.ENDED_WITH_IT;
return{...b,devices:(b.devices??[]).map((row)=>({...row,holders:[],free_reason:"",metrics:null,over:true})),tasks:b2?Q.filter((row)=>ENDED.has(row.state)):Q,counts:G,actors:(b.actors??[]).map((row)=>({...row,state:"DEAD",pending_calls:0})),actor_counts:{}}}
const HIDDEN_RESOURCES=/^(node:|accelerator_type:|bundle_)|^(memory|object_store_memory)$|_group_/;
const BY_STATE={column:"",down:false};
const NO_FILTER={state:"",cell:"",text:""};
function sceneOf(ak,z,j){const a6=ak.lost?"the kernel has gone":!ak.ended?"":ak.runtime.shared?"left":"shut down";
const b=a6?afterEnd(ak):ak;
const G=taskCounts(b);
const P=z.tab;
const a7=b.runs?.(j,a6!=="",b);
const Q=P==="tasks"?tasksOf(b,z,j):[];
return{title:titleOf(b),ended:a6,counts:G,busy:a6?[]:busyOf(b),resources:resourcesOf(b,a6!==""),tabs:tabsOf(b,G,a7),...devicesOf(b,j,P==="devices"?z:null),found:(b.found??[]).map(plain),waiting:waitingViews(b,j),tasks:Q,tasksFound:z.found?.total??Q.length,foundInAll:Boolean(z.found),taskRows:(b.tasks??[]).length,taskTotal:Object.values(G).reduce((av,n)=>av+n,0),cells:P==="tasks"?cellsOf(b):[],actors:P==="actors"?actorViews(b,j):[],actorsMore:actorsMore(b),runs:a7,pastViews:b.past,timeline:P==="timeline"&&b.past?b.past.timelineOf(b,z.window,j,z.range,z.past?.runs?.data):null,accounts:P==="accounting"&&b.past?b.past.accountsView(z.past?.accounting?.data,b,j):null,alerts:alertsOf(b,j),nodes:nodesOf(b,j)}}
function tasksOf(b,z,j){const aj=z.found;
const rows=aj?{...b,tasks:aj.tasks,reasons:aj.reasons}:b;
return ordered(taskViews(rows,aj?NO_FILTER:z.filter,j),z.sort??BY_STATE,z.held??null)}
function titleOf(b){const{engine:ca,version:d3,pid:bl,shared:b2}=b.runtime;
const cy=(b.nodes??[]).filter((e)=>e.alive!==false).length;
return["nbaccel "+plain(d3),`${plain(ca)} engine`,cy>1?count(cy,"node"):"",bl?`head pid ${bl}`:"",b2?"shared by several notebooks":""].filter(Boolean)}
function busyOf(b){const bU=new Map();
for(const row of b.devices??[]){if(row.offered===false)continue;
const U=bU.get(row.resource)??{held:0,all:0};
U.all+=1;
if(row.holders?.length||row.free_reason)U.held+=1;
bU.set(row.resource,U)}
if(bU.size)return[...bU].map(([i,{held:ay,all:J}])=>`${ay} of ${count(J,plain(i))} busy`);
const av=(of)=>(b.nodes??[]).reduce((J,e)=>J+(e.alive===false?0:(e[of]?.CPU??0)),0);
return av("totals")?[`${amount(av("totals")-av("available"))} of ${amount(av("totals"))} CPUs busy`]:[]}
function resourcesOf(b,a6){const ct=new Map();
for(const e of b.nodes??[]){for(const[i,W]of e.alive===false?[]:Object.entries(e.totals??{})){if(HIDDEN_RESOURCES.test(i))continue;
const[cb,J]=ct.get(i)??[0,0];
ct.set(i,[cb+(e.available?.[i]??0),J+W])}}
return[...ct].map(([i,[cb,J]])=>`${plain(i)} ${a6?amount(J):`${amount(cb)} of ${amount(J)} free`}`)}
function tabsOf(b,G,a7){const bt=(b.alerts??[]).length;
const dd=(b.actors??[]).filter((row)=>row.state!=="DEAD").length+actorsMore(b);
const tabs=[{id:"devices",label:"Devices",badge:0,urgent:false},{id:"waiting",label:"Waiting",badge:G.waiting,urgent:false},{id:"tasks",label:"Tasks",badge:G.failed,urgent:false,failed:true},{id:"actors",label:"Actors",badge:dd,urgent:false},{id:"timeline",label:"Timeline",badge:0,urgent:false},{id:"accounting",label:"Accounting",badge:0,urgent:false},{id:"alerts",label:"Alerts",badge:bt,urgent:bt>0}];
if(a7)tabs.push({id:"runs",label:"Runs",badge:a7.active,urgent:false});
if((b.nodes??[]).length>1||b.arrivals?.length)tabs.push({id:"nodes",label:"Nodes",badge:0,urgent:false});
return tabs}
function actorsMore(b){const ab=(b.actors??[]).filter((row)=>row.state!=="DEAD").length;
const J=Object.entries(b.actor_counts??{}).filter(([a])=>a!=="DEAD");
return Math.max(0,J.reduce((av,[,n])=>av+n,0)-ab)}
function alertsOf(b,j){return(b.alerts??[]).map((X,u)=>({key:`${X.since}/${u}`,kind:plain(X.kind),message:plain(X.message),age:age(j-X.since),never:(X.kind==="infeasible"&&X.task_id)||"-"})).reverse()}
function nodesOf(b,j){const du=(b.nodes??[]).map((e)=>({key:e.node_id,name:plain(e.name),sign:e.alive===false?"✕":"●",state:e.alive===false?"gone":"alive",role:e.is_head?"head":"",resources:resourcesOf({...b,nodes:[e]},Boolean(b.ended)).join(" · "),why:plain(e.why)||whyOfNode(e,j),moves:(e.leaves_at??0)>j}));
const dh=(b.arrivals??[]).map((R)=>({key:R.id,name:plain(R.node_type),sign:"◌",state:"arriving",role:"",resources:"",moves:true,why:`for ${duration(j-(R.since??j))}${R.usually_s?` (usually ${duration(R.usually_s)})`:""}${R.state?`: ${plain(R.state)}`:""}`}));
return[...du,...dh]}
function whyOfNode(e,j){if(e.kept_by)return`stays: ${plain(e.kept_by)}`;
if(!e.leaves_at||!e.idle_since)return"";
const aA=e.leaves_at-j;
return`idle for ${duration(j-e.idle_since)}, ${aA>0?`leaves in ${duration(aA)}`:"kept for a request or its type's min"}`}
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
& .holders ul,& .lines,& .alerts{list-style:none;margin:0;padding:0}
& .holders li{display:flex;gap:8px;align-items:center;margin:0;min-height:27px}
& .holders .who{min-width:0;overflow-wrap:anywhere}
& .holders .name{margin-right:8px}
& .holders .facts{display:inline-block}
& .holders li>button,& .holders li>.ask{margin-left:auto}
& .holders{padding-right:2px;min-width:230px}
& .swatch{display:inline-block;width:10px;height:10px;border-radius:3px;flex:none}
&{position:relative}
& .lines,& .alerts{margin-top:6px}
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
& .timeline .bar-name{fill:#fff;font-size:11px;pointer-events:none}
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
@container (max-width:700px){& th[scope=row]{white-space:normal}& td .cut,& th .cut{max-width:24ch}
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
@container (max-width:320px){& .holders{min-width:0}}
@media (prefers-reduced-motion:reduce){& *{transition:none!important;animation:none!important}}
@media (forced-colors:active){& .ink{color:CanvasText}&,& button,& .chip{border-color:CanvasText}
& .bar{outline-color:CanvasText;forced-color-adjust:none;background:Canvas}
& .tile .bar{forced-color-adjust:none}
& .bar .part{background:Highlight!important;border-right:1px solid CanvasText}
& .swatch{forced-color-adjust:none}
& [role=tab]{border-color:Canvas}& [role=tab][aria-selected=true]{border-bottom-color:Highlight}
& .timeline .run{fill:Highlight;stroke:CanvasText}& .timeline .bar-name{fill:HighlightText}}
${colourRules("&")}
`.replaceAll("&",".nbaccel-cockpit.nbaccel-cockpit");
function watchVisibility(K,T){const t=K.ownerDocument;
const db=t.defaultView??window;
let cT=false;
let N=null;
const aB=(aW=false)=>{const a2=cT&&!aW&&t.visibilityState!=="hidden";
if(a2!==N){N=a2;
T(a2,aW)}else if(aW)T(false,true)};
const bA=new IntersectionObserver((cG)=>{cT=cG[cG.length-1].isIntersecting;
aB()});
const c2=()=>aB();
const aW=()=>aB(true);
bA.observe(K);
t.addEventListener("visibilitychange",c2);
db.addEventListener("pagehide",aW);
return()=>{bA.disconnect();
t.removeEventListener("visibilitychange",c2);
db.removeEventListener("pagehide",aW);
aB(true)}}
const MORE_ROWS=1000;
function mount(place,E,cV={}){const t=place.ownerDocument;
const g=t.createElement("div");
const bp=t.createElement("style");
bp.textContent=STYLE;
g.className="nbaccel-cockpit";
g.dataset.lmSuppressShortcuts="true";
place.append(bp,g);
const a=cV.state??newState(cV.details??false);
a.goes=(cell)=>Boolean(E.go)||isHere(g,cell);
a.retries=Boolean(E.retries);
const clock=kernelClock();
let a2=false;
const bi={running:(new Set())};
let aH=0;
const ao=()=>{aH=0;
const b=E.snapshot();
const cJ=g.contains(t.activeElement)?t.activeElement:null;
if(g.clientWidth)a.room=g.clientWidth-30;
if(!b)draw(g,drawEmpty("Waiting for the first snapshot of the cluster …"));
else drawSnapshot(g,b,a,b.ended?(b.time??0):clock.now());
if(cJ&&!cJ.isConnected)refocus(g,a)};
const bG=()=>{if(a2&&!aH)aH=requestAnimationFrame(ao)};
const cz=()=>{const b=E.snapshot();
if(b?.time)clock.heard(b.time);
forget(a,b);
if(a2&&!b?.ended)aB();
const aG=b?endings(bi,b):[];
if(a.notices)notify(t.defaultView,aG);
bG()};
const bF=(j,aW=false)=>{a2=j;
const by=j||(a.notices&&!aW);
E.send({say:by?"visible":"hidden",view:a.id,rows:j&&a.wide?MORE_ROWS:0});
if(j)bw.look();
else bw.end();
bG()};
const cI=finder(E,a);
const bw=historian(E,a,clock.now);
const aB=()=>{cI.find();
bw.look()};
const b9=[cI.end,bw.end,E.subscribe(cz),actions(g,E,a,{redraw:bG,more:()=>bF(a2),look:aB,recall:bw.heard,now:clock.now}),watchRows(g,a,bG),watchVisibility(g,bF)];
const dY=setInterval(bG,1000);
cz();
ao();
return()=>{clearInterval(dY);
if(aH)cancelAnimationFrame(aH);
for(const ar of b9)ar();
bp.remove();
g.remove()}}
function drawSnapshot(g,b,a,j){const z={filter:a.filter,window:a.window,range:a.range,sort:a.sort,held:a.held,tab:a.details?a.tab:"devices",found:foundNow(a),past:a.past,device:a.device,tiles:a.tiles};
const c=sceneOf(b,z,j);
if(c.timeline)a.shown={from:c.timeline.start,to:c.timeline.start+c.timeline.seconds};
const Y=()=>((a.only?drawOnly(c,a):drawFrame(c,a)).filter(Boolean));
draw(g,Y());
if(measureTiles(g,a))return drawSnapshot(g,b,a,j);
if(a.tab==="tasks"&&measure(g,a))draw(g,Y());
if((a.tab==="runs"||a.only)&&measureRows(g,a))draw(g,Y());
followLog(g,a)}
function forget(a,b){if(a.rows.size>4*MORE_ROWS)a.rows.clear();
if(!a.asked.size||!b)return;
const aZ=new Set((b.actors??[]).filter((row)=>row.state!=="DEAD").map((row)=>row.actor_id));
for(const row of b.tasks??[])if(!ENDED.has(row.state))aZ.add(row.task_id);
for(const x of a.asked)if(!aZ.has(x))a.asked.delete(x)}
function refocus(g,a){const dB=g.querySelector('[data-act="keep"]')??g.querySelector(a.details?'[role="tab"][aria-selected="true"]':'[data-act="details"]');
(dB)?.focus({preventScroll:true})}
function unpacked(ak){return{...ak,devices:rowsOf(ak.devices),tasks:rowsOf(ak.tasks)}}
function rowsOf(table){if(!table||Array.isArray(table))return table??[];
const rows=Array.from({length:table.rows},()=>({...(table.same)}));
const bf=(i,d2)=>rows.forEach((row,u)=>{const H=d2(u);
if(H!=null)row[i]=H});
for(const[i,bJ]of Object.entries(table.each??{}))bf(i,(u)=>bJ[u]);
for(const[i,[dm,cn]]of Object.entries(table.of??{}))bf(i,(u)=>dm[cn[u]]);
for(const[i,cd]of Object.entries(table.within??{})){const bJ=rowsOf(cd);
bf(i,(u)=>bJ[u])}
for(const[i,{sizes:dV,rows:cd}]of Object.entries(table.lists??{})){const bJ=rowsOf(cd);
bf(i,(u)=>bJ.splice(0,dV[u]))}
return rows}
function takePlaces(t,i,dS){const aw=new Map();
const c0=(place)=>{if(!aw.has((place)))aw.set((place),dS((place)))};
const c1=(e)=>{if(e.nodeType!==1)return;
const K=(e);
if(K.classList.contains(i))c0(K);
for(const place of K.getElementsByClassName(i))c0(place)};
const bA=new MutationObserver((dN)=>{for(const[place,cf]of aw){if(place.isConnected)continue;
aw.delete(place);
cf()}
for(const bD of dN)for(const e of bD.addedNodes)if(e.isConnected)c1(e)});
bA.observe(t,{childList:true,subtree:true});
c1(t.documentElement);
return()=>{bA.disconnect();
for(const cf of aw.values())cf()}}
function cover(place,bf){const cY=([...place.children]);
const aZ=place.ownerDocument.createElement("div");
for(const R of cY)R.style.display="none";
place.append(aZ);
const ar=bf(aZ);
return()=>{ar();
aZ.remove();
for(const R of cY)R.style.display=""}}
const PARTS={h,button,cell,empty,nameOf,table,rowsOf,PALETTE,age,amount,clock,count,demandWords,deviceWords,duration,plain,stateWord,colourOf,subjectOf,deviceLabels,laneName,cellWords,LAST_MINUTE,WHOLE_RUN,inSight};
function loadedFrom(A,d$,T){let z=false;
let cO=null;
return()=>{const bb=A.get(d$);
if(bb&&!z){z=true;
import(URL.createObjectURL(new Blob([bb],{type:"text/javascript"}))).then((ch)=>{cO=ch.default(PARTS);
T()})}
return cO}}
function pastOf(A,T){return loadedFrom(A,"past_code",T)}
function runsOf(A,T){const ch=loadedFrom(A,"runs_code",T);
let q="";
let r=null;
return()=>{const[cE,j]=[ch(),A.get("runs")];
if(cE&&j!==q)r=cE(JSON.parse((q=j)));
return r}}
const OF="nbaccel-of-";
function sourceOf(A){let q="";
let cl=null;
let cg=false;
let cu=()=>{};
const a7=runsOf(A,()=>cu());
const bk=pastOf(A,()=>cu());
return{snapshot(){const j=A.get("snapshot");
if(j!==q){q=j;
cl=j?unpacked(JSON.parse(j)):null}
const ab=cl&&{...cl,runs:a7(),past:bk()};
return cg&&ab?{...ab,ended:true,lost:cg}:ab},subscribe(T){const c5=()=>{cg=true;
T()};
cu=T;
A.on("change:snapshot",T);
A.on("change:runs",T);
A.on("change:past_code",T);
A.on("comm_live_update",c5);
return()=>{A.off("change:snapshot",T);
A.off("change:runs",T);
A.off("change:past_code",T);
A.off("comm_live_update",c5)}},listen(bg){A.on("msg:custom",bg);
return()=>A.off("msg:custom",bg)},send:(B)=>A.send(B),retries:true}}
function render({model:A,el:dn}){return mount(dn,sourceOf(A),{state:newState(Boolean(A.get("details")))})}
function initialize({model:A}){const c_=new WeakMap();
return takePlaces(document,A.get("place"),(place)=>{const a=c_.get(place)??newState(place.classList.contains("nbaccel-details"));
a.only=[...place.classList].find((i)=>i.startsWith(OF))?.slice(OF.length)??"";
c_.set(place,a);
return cover(place,(aZ)=>mount(aZ,sourceOf(A),{state:a}))})}
export default{initialize,render};
