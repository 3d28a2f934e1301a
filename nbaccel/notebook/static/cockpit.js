// nbaccel's cockpit, joined from nbaccel/notebook/cockpit/ by tools/join_cockpit.py. Change it there.
function copyText(t,q){const cJ=t.defaultView?.navigator.clipboard;
if(cJ)cJ.writeText(q).catch(()=>copySelected(t,q));
else copySelected(t,q)}
function copySelected(t,q){const aL=t.createElement("textarea");
aL.value=q;
aL.style.position="fixed";
t.body.append(aL);
aL.select();
t.execCommand("copy");
aL.remove()}
const STEP=0.8;
function isHere(i,E){return E.startsWith("[")&&Boolean(i.closest(".jp-Notebook"))}
async function d0(i,E,an){const b1=i.closest(".jp-Notebook");
const t=i.ownerDocument.defaultView;
if(!b1||!t)return;
const cv=E.split(" ")[0];
const ap=(q)=>[...b1.querySelectorAll(".jp-InputPrompt")].find((I)=>I.textContent===`${q}:`)?.closest(".jp-Cell");
const bH=b1.querySelector(".jp-WindowedPanel-outer")??b1;
const z=bH.scrollTop;
let cell=ap(cv);
for(let bt=0;!cell&&bt<bH.scrollHeight;bt+=STEP*bH.clientHeight){bH.scrollTop=bt;
await new Promise((ad)=>t.requestAnimationFrame(()=>t.requestAnimationFrame(ad)));
cell=ap(cv)}
if(!cell)bH.scrollTop=z;
cell??=ap("[*]");
if(!cell)return an(`No cell of this notebook is ${cv} any more.`);
cell.scrollIntoView({block:"center"});
(cell).focus({preventScroll:true})}
const SIZES=([[2**40,"TiB"],[2**30,"GiB"],[2**20,"MiB"],[2**10,"KiB"]]);
const ENDED=new Set(["FINISHED","FAILED","CANCELLED"]);
const RUNNING=new Set(["RUNNING","RUNNING_IN_RAY_GET","RUNNING_IN_RAY_WAIT","SUBMITTED_TO_WORKER"]);
function amount(bF){return String(Math.round(bF*10000)/10000)}
function size(bU){if(bU==null)return"unknown";
for(const[b8,R]of SIZES){if(bU>=b8){const J=bU/b8;
return`${J>=10||Number.isInteger(J)?Math.round(J):J.toFixed(1)} ${R}`}}
return`${bU} B`}
function age(aw){const aA=Math.max(0,Math.floor(aw));
if(aA<60)return`${aA} s`;
const[b8,b_,am,dI]=aA<3600?["min",60,aA%60,"s"]:["h",3600,Math.floor((aA%3600)/60),"min"];
return`${Math.floor(aA/Number(b_))} ${b8}${am?` ${String(am).padStart(2,"0")} ${dI}`:""}`}
function duration(aw){return aw<9.95?`${Math.max(0,aw).toFixed(1)} s`:age(aw)}
function clock(bL,k){const u=new Date(bL*1000);
const bM=(l)=>String(l).padStart(2,"0");
const[dp,cK]=[`${bM(u.getMonth()+1)}-${bM(u.getDate())}`,`${bM(u.getHours())}:${bM(u.getMinutes())}`];
return u.toDateString()===new Date(k*1000).toDateString()?`${cK}:${bM(u.getSeconds())}`:`${dp} ${cK}`}
function plain(q){return(q??"").replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,(dl)=>`\\u${dl.charCodeAt(0).toString(16).padStart(4,"0")}`)}
function hostWords(f){return/^[\d.:]+$/.test(f)?f:f.split(".")[0]}
function count(l,co){return l===1||co.endsWith("s")?`${l} ${co}`:`${l} ${co}s`}
function demandWords(dq){const $=Object.entries(dq??{}).filter(([,bF])=>bF);
return $.map(([f,bF])=>`${amount(bF)} ${plain(f)}`).join(", ")||"nothing"}
function deviceWords(bX){return Object.entries(bX??{}).filter(([,a1])=>a1.length).map(([f,a1])=>`${plain(f)} ${a1.map(plain).join(", ")}`).join("; ")}
function shortId(A){const dO=A.length===48&&A.startsWith("000000",24);
if(dO)return`${A.slice(0,4)}-${parseInt(A.slice(30,40),16)}`;
return A.startsWith("f".repeat(16))?A.slice(16,28):A.slice(0,12)}
function taskName(f){return plain(f).replace(/\.__init__$/," (starting)")}
function stateWord(a){if(RUNNING.has(a))return"running";
if(a.startsWith("PENDING"))return"waiting";
return a.toLowerCase().replaceAll("_"," ")}
function stateSign(R){return{running:"●",waiting:"◌",finished:"✓",failed:"✕",cancelled:"⊘","ended with it":"–",alive:"●",dead:"✕"}[R]??"◌"}
function ownerOf(c,row){if(!row.job||row.job===c.runtime.job||!c.jobs?.length)return"";
return plain(c.jobs.find((dH)=>dH.number===row.job)?.name??`job ${row.job}`)}
function cellWords(c,row){return[ownerOf(c,row),plain(row.cell)].filter(Boolean).join(" ")}
const LONG_S=60;
const MOST_RUNNING=10_000;
function endings(bk,c){const aW=[];
if(bk.running.size>MOST_RUNNING)bk.running.clear();
for(const row of c.tasks??[]){if(!ENDED.has(row.state)){if(row.started_at!=null&&!ownerOf(c,row))bk.running.add(row.task_id);
continue}
if(!bk.running.delete(row.task_id)||row.started_at==null)continue;
const aw=(row.finished_at??c.time??0)-row.started_at;
if(aw<LONG_S)continue;
const aX=row.reason==null?row.why:c.reasons?.[row.reason];
const cC=`${plain(row.name)} #${shortId(row.task_id)} ${{FINISHED:"has finished",FAILED:"has failed"}[row.state]??`was ${stateWord(row.state)}`}`;
aW.push({id:row.task_id,title:cC,body:[`after ${age(aw)}`,row.cell&&`cell ${plain(row.cell)}`,plain(aX)].filter(Boolean).join(" · ")})}
return aW}
async function d9(t,a,an){const bC=(t)?.Notification;
if(a.notices){a.notices=false;
an("");
return}
if(!bC)return an("This browser shows no notices.");
a.notices=(await bC.requestPermission())==="granted";
an(a.notices?"The browser will tell you when a task of more than a minute ends or fails.":"The browser does not let this page show notices. Its settings for this site can change that.")}
function notify(t,aW){const bC=(t)?.Notification;
if(!bC)return;
for(const{id:A,title:cC,body:bw}of aW)new bC(cC,{body:bw,tag:`nbaccel-${A}`})}
const OFFERED="nbaccel-order";
function secondWay(i,H,C,az){const bn=H.snapshot()?.runtime.pid;
const dP=new CustomEvent(OFFERED,{bubbles:true,cancelable:true,detail:{message:C,pid:bn,taken:az}});
return!i.dispatchEvent(dP)}
const TILES=".scroll.of-tiles";
const REGIONS=".scroll[data-sight]";
function watchRows(i,a,av){const aK=(n)=>{const y=(n.target);
if(y.matches?.(TILES))measureTiles(i,a);
else if(y.matches?.(REGIONS))note(y,a);
else return;
av()};
const moved=(n)=>{const bw=n.type==="pointerover"?(n.target).closest?.(`${REGIONS} tbody`):null;
const aJ=(bw?.closest(REGIONS)??null)?.dataset.sight??"";
if(aJ===a.heldSight)return;
a.heldSight=aJ;
av()};
return listening(i,aK,moved)}
function listening(i,aK,moved){i.addEventListener("scroll",aK,true);
i.addEventListener("pointerover",moved);
i.addEventListener("pointerleave",moved);
return()=>{i.removeEventListener("scroll",aK,true);
i.removeEventListener("pointerover",moved);
i.removeEventListener("pointerleave",moved)}}
function measureRows(i,a){const dY=([...i.querySelectorAll(REGIONS)]);
return dY.map((y)=>note(y,a)).some(Boolean)}
function measureTiles(i,a){const y=i.querySelector(TILES);
const tile=y?.querySelector("li:not(.gap)");
const a$=tile?.parentElement;
if(!y||!tile||!a$)return false;
const bs=getComputedStyle(a$);
const k={top:y.scrollTop,height:y.clientHeight,columns:bs.gridTemplateColumns.split(" ").length,row:tile.getBoundingClientRect().height+parseFloat(bs.rowGap)};
const z=a.tiles;
a.tiles=k;
return z?.columns!==k.columns||Math.abs(z.top-k.top)>k.row||Math.abs(z.height-k.height)>k.row||Math.abs(z.row-k.row)>0.1}
function note(y,a){const f=y.dataset.sight??"";
const z=a.sights.get(f);
const rows=y.querySelectorAll("tbody tr:not(.gap)");
if(!rows.length)return false;
const aC=(rows[rows.length-1].getBoundingClientRect().bottom-rows[0].getBoundingClientRect().top)/rows.length;
const L=z&&(aC<8||Math.abs(aC-z.row)<4);
a.sights.set(f,{top:y.scrollTop,height:Math.max(y.clientHeight,100),row:L?z.row:aC});
return!L||Math.abs(z.top-y.scrollTop)>1}
const TASKS='.scroll[aria-label="Tasks"]';
function watchSight(i,a,av){const aK=(n)=>{const y=(n.target);
if(a.log&&y.matches?.(".printed"))a.log.follow=y.scrollTop+y.clientHeight>y.scrollHeight-4;
if(!y.matches?.(TASKS))return;
a.scrolled={...a.scrolled,top:y.scrollTop,height:y.clientHeight};
av()};
const moved=(n)=>{const aJ=n.type==="pointerover"&&Boolean((n.target).closest?.(`${TASKS} tbody`));
if(aJ===Boolean(a.held))return;
a.held=aJ?a.order:null;
av()};
return listening(i,aK,moved)}
function measure(i,a){const y=i.querySelector(TASKS);
const rows=y?.querySelectorAll("tr[data-task]");
if(!y||!rows?.length)return false;
const z=a.scrolled;
const _=(rows[0]).getBoundingClientRect();
const Q=(rows[rows.length-1]).getBoundingClientRect();
const at=y.querySelector(".logrow")?.getBoundingClientRect().height??0;
const row=(Q.bottom-_.top-(y.querySelector(".logrow ~ tr[data-task]")?at:0))/rows.length;
const L=row<8||Math.abs(row-z.row)<4;
a.scrolled={top:y.scrollTop,height:Math.max(y.clientHeight,100),row:L?z.row:row};
return!L||Math.abs(a.scrolled.top-z.top)>1}
const SAY_EVERY_MS=5000;
function speaker(a,r){let Q=0;
let aD;
return(E)=>{clearTimeout(aD);
const b9=Math.max(0,Q+SAY_EVERY_MS-Date.now());
aD=setTimeout(()=>{Q=Date.now();
a.said=E;
r.redraw()},a.said?b9:0)}}
const LEAST_S=0.05;
const LEAST_DRAG_PX=6;
const CARD_PX=246;
const HOVERS=["pointerover","pointerleave","focusin","focusout"];
function zoomed({from,to:a3},bT,place=0.5){const b_=Math.max(LEAST_S,(a3-from)*bT);
const u=from+(a3-from)*place;
return{from:u-b_*place,to:u+b_*(1-place)}}
function moved({from,to:a3},ba){const bT=(a3-from)*ba;
return{from:from+bT,to:a3+bT}}
function keyed(w,aM){if(w==="+"||w==="=")return{range:zoomed(aM,0.5)};
if(w==="-")return{range:zoomed(aM,2)};
if(w==="ArrowLeft")return{range:moved(aM,-0.2)};
if(w==="ArrowRight")return{range:moved(aM,0.2)};
return w==="0"||w==="Home"?{range:null}:null}
function placeOfCard(i,bS){const[be,a6]=[i.getBoundingClientRect(),bS.getBoundingClientRect()];
const aE=Math.max(8,Math.min(a6.left,be.right-CARD_PX)-be.left);
const cb=a6.top-be.top<be.height/2?`top:${a6.bottom-be.top+4}px`:`bottom:${be.bottom-a6.top+4}px`;
return`left:${Math.round(aE)}px;max-width:${CARD_PX-16}px;${cb}`}
function watchZoom(i,a,ag,av){let aQ=null;
const c5=(n)=>(n.target).closest?.("svg.timeline");
const placeOf=(aO,ef)=>{const a6=aO.getBoundingClientRect();
const{width:ee,left:aE,right:cw}=a.lanes;
return Math.min(1,Math.max(0,(((ef-a6.left)/a6.width)*ee-aE)/(cw-aE)))};
const df=(n)=>{const aO=c5(n);
if(!aO||!(n.ctrlKey||n.metaKey))return;
n.preventDefault();
a.range=zoomed(ag(),n.deltaY>0?1.25:0.8,placeOf(aO,n.clientX));
av(true)};
const pressed=(n)=>{const aO=c5(n);
aQ=aO&&n.button===0?{x:n.clientX,place:placeOf(aO,n.clientX)}:null};
const c1=(n)=>{const aO=i.querySelector("svg.timeline");
if(!aQ||!aO||Math.abs(n.clientX-aQ.x)<LEAST_DRAG_PX)return void(aQ=null);
const[aE,cw]=[aQ.place,placeOf(aO,n.clientX)].sort((O,K)=>O-K);
const{from,to:a3}=ag();
const aM={from:from+(a3-from)*aE,to:from+(a3-from)*cw};
if(aM.to-aM.from>=LEAST_S)a.range=aM;
aQ=null;
av(true)};
const cS=(n)=>{const aJ=(/pointerover|focusin/.test(n.type)?(n.target).closest?.("[data-bar]"):null);
const bS=aJ?.dataset.bar??"";
if(bS===a.hover.bar)return;
a.hover={bar:bS,style:aJ?placeOfCard(i,aJ):""};
av(false)};
const w=(n)=>{const dQ=(n.target).matches?.('.scroll[aria-label="Timeline"]');
const ad=dQ&&!n.ctrlKey&&!n.metaKey?keyed(n.key,ag()):null;
if(!ad)return;
a.range=ad.range;
n.preventDefault();
av(true)};
i.addEventListener("wheel",df,{passive:false});
i.addEventListener("pointerdown",pressed);
i.addEventListener("pointerup",c1);
for(const cD of HOVERS)i.addEventListener(cD,cS);
const ax=()=>{i.removeEventListener("wheel",df);
i.removeEventListener("pointerdown",pressed);
i.removeEventListener("pointerup",c1);
for(const cD of HOVERS)i.removeEventListener(cD,cS)};
return{key:w,end:ax}}
const TAKEN_WITHIN_MS=1500;
function actions(i,H,a,r){const bO=new Map();
const an=speaker(a,r);
const bE=(C,f)=>{a.doubted="";
H.send(C);
a.asked.add(C.id);
clearTimeout(bO.get(C.id));
bO.set(C.id,setTimeout(()=>{if(C.say!=="retry"&&secondWay(i,H,C,an))return;
an(`The kernel is busy and takes messages only between cells: ${f} is told when the running cell ends. To end the cell itself, use Stop.`)},TAKEN_WITHIN_MS));
r.redraw()};
const bd={cancel:(m)=>bE({say:"cancel",id:m.id},`${m.name}`),retry:(m)=>bE({say:"retry",id:m.id},`${m.name}`),kill:(m)=>bE({say:"kill",id:m.id},`${m.name}`),"cancel-run":(m)=>bE({say:"stop",id:m.id},`${m.name}`),doubt(m){a.doubted=m.id??"";
an(`${m.name} belongs to ${m.owner}, not to this notebook.`)},notices:()=>void d9(i.ownerDocument.defaultView,a,an).then(r.more),sure:(m)=>void(a.doubted=m.id??""),"cancel-many":(m)=>bE({say:"cancel-many",id:m.id,function:m.function,filter:{state:m.state,cell:m.cell,text:m.text}},`${m.name}`),keep(){a.doubted="";
an("")},logs(m){delete a.past.task_log;
a.log=a.log?.id===m.id?null:{id:m.id??"",name:m.name??"",search:"",follow:true};
r.look()},"close-log":()=>void(a.log=null),go:({cell=""})=>void(H.go?H.go(cell):d0(i,cell,an)),details(){a.details=!a.details;
r.look()},tab(m){a.details=true;
a.tab=m.tab??"devices";
r.look()},window(m){a.window=Number(m.window);
a.range=null;
r.look()},zoom(m){a.range=zoomed(a.shown,Number(m.by));
r.look()},follow(){a.range=null;
r.look()},"ask-more"(){a.wide=true;
r.more();
r.look()},count(m){a.details=true;
a.tab="tasks";
a.filter={state:m.state==="ended with it"?"":(m.state??""),cell:"",text:m.text??""};
r.look()},sort(m){const bg=m.column??"";
a.sort={column:bg,down:a.sort.column===bg&&!a.sort.down};
a.held=null},group:(m)=>void(a.open.delete(m.function??"")||a.open.add(m.function??"")),tile:(m)=>void(a.device=a.device===m.device?"":(m.device??"")),copy(m){copyText(i.ownerDocument,m.text??"");
an(`Copied ${m.name}.`)},trace(){const c=H.snapshot();
if(c?.past)save(i.ownerDocument,JSON.stringify(c.past.traceOf(c,r.now())))}};
const cI=(n)=>{const bb=((n.target).closest?.("[data-act]"));
if(!bb||bb.hasAttribute("disabled"))return;
const ah=bb.dataset.act??"";
const dG=(n).detail>1;
if(!dG||!/^(cancel|kill|retry)/.test(ah))bd[ah]?.(bb.dataset);
r.redraw()};
const da=(n)=>{const aL=(n.target);
if(aL.dataset?.search&&a.log){a.log.search=aL.value;
r.redraw()}
const f=(aL.dataset?.filter);
if(!f)return;
a.filter={...a.filter,[f]:aL.value};
r.look();
r.redraw()};
const dh=watchZoom(i,a,()=>a.shown,(aM)=>{if(aM)r.look();
r.redraw()});
const w=(n)=>{if(!i.contains((n.target)))return;
dh.key(n);
pressed(n,i,bd,r)};
const bi=H.listen((C)=>{if(C.say==="taken"){clearTimeout(bO.get(C.id));
bO.delete(C.id);
an(C.words??"")}else if(C.say==="found"&&C.id===a.id){a.found=C.found}else if(C.say==="history"&&C.id===a.id){r.recall(C)}
r.redraw()});
const cf=[watchSight(i,a,r.redraw),dh.end];
i.addEventListener("click",cI);
i.addEventListener("input",da);
const t=i.ownerDocument.defaultView;
t?.addEventListener("keydown",w,true);
return()=>{bi();
for(const ax of cf)ax();
for(const d6 of bO.values())clearTimeout(d6);
i.removeEventListener("click",cI);
i.removeEventListener("input",da);
t?.removeEventListener("keydown",w,true)}}
function pressed(n,i,bd,r){const bb=(n.target);
if(n.key==="Escape"&&i.querySelector('[data-act="keep"]'))bd.keep({});
else if(n.key==="Escape"&&i.querySelector(".log"))bd["close-log"]({});
else if(bb.getAttribute("role")==="tab"){const tabs=([...i.querySelectorAll('[role="tab"]')]);
const u=tabs.indexOf(bb);
const cX={ArrowRight:u+1,ArrowLeft:u-1,Home:0,End:tabs.length-1}[n.key];
if(cX!==undefined){const T=tabs[(cX+tabs.length)%tabs.length];
bd.tab(T.dataset);
T.focus();
n.preventDefault()}}
if(n.key!=="Tab")n.stopPropagation();
r.redraw()}
function save(t,q){const b$=t.createElement("a");
b$.href=URL.createObjectURL(new Blob([q],{type:"application/json"}));
b$.download="nbaccel-trace.json";
b$.click();
setTimeout(()=>URL.revokeObjectURL(b$.href),1000)}
function kernelClock(dd=()=>Date.now()/1000){let ca=0;
return{heard(bL){ca=Math.max(ca,bL-dd())},now:()=>dd()+ca}}
const SVG="http://www.w3.org/2000/svg";
const DRAWN=Symbol("drawn");
function h(d4,bo={},...aR){const ab=[];
for(const p of aR){if(!Array.isArray(p))p||p===""?ab.push(p):null;
else for(const I of p)if(I||I==="")ab.push(I)}
return{tag:d4,key:bo.key??"",props:bo,children:ab}}
function draw(au,aR){if(!fits(au,aR))return arrange(au,aR);
let g=au.firstChild;
for(const p of aR){if(g)update(g,p);
g=g?.nextSibling??null}}
function fits(au,aR){let g=au.firstChild;
for(const p of aR){if(!g||!isOf(g,p)||(typeof p!=="string"&&p.key!==keyOf(g)))return false;
g=g.nextSibling}
return!g}
function arrange(au,aR){const bl=([...au.childNodes]);
const keyed=new Map(bl.filter((g)=>keyOf(g)).map((g)=>[keyOf(g),g]));
const dS=bl.filter((g)=>!keyOf(g));
const cT=new Set();
let place=au.firstChild;
for(const p of aR){const g=matching(p,keyed,dS)??created(p,au);
cT.add(g);
update(g,p);
if(g===place)place=place.nextSibling;
else au.insertBefore(g,place)}
for(const g of bl)if(!cT.has(g))g.remove()}
function keyOf(g){return(g)[DRAWN]?.key??""}
function isOf(g,p){return typeof p==="string"?g.nodeType===3:(g)[DRAWN]?.tag===p.tag}
function matching(p,keyed,aI){if(typeof p!=="string"&&p.key){const g=keyed.get(p.key);
keyed.delete(p.key);
return g&&isOf(g,p)?g:undefined}
const v=aI.findIndex((g)=>isOf(g,p));
return v<0?undefined:aI.splice(0,v+1)[v]}
function created(p,au){const t=au.ownerDocument;
if(typeof p==="string")return t.createTextNode("");
const dF=p.tag==="svg"||au.namespaceURI===SVG;
const M=dF?t.createElementNS(SVG,p.tag):t.createElement(p.tag);
(M)[DRAWN]={tag:p.tag,key:p.key,props:{},children:[]};
return M}
function update(g,p){if(typeof p==="string"){if(g.nodeValue!==p)g.nodeValue=p;
return}
const M=(g);
const aa=(M)[DRAWN];
if(aa.shape===p)return;
const z=aa.props;
for(const f in z)if(!(f in p.props))set(M,f,null);
for(const f in p.props)if(z[f]!==p.props[f])set(M,f,p.props[f]);
if("value"in p.props&&(M).value!==p.props.value)set(M,"value",p.props.value);
aa.props=p.props;
aa.shape=p;
if(p.children.length||M.firstChild)draw(M,p.children)}
function set(M,f,J){if(f==="key")return;
if(f==="value")(M).value=J??"";
else if(J==null||J===false)M.removeAttribute(f);
else if(f==="style")M.setAttribute("style",J);
else M.setAttribute(f,J===true?"":String(J))}
function table(bV,ac,rows,aG={}){const dB=ac.map((bg,v)=>head(typeof bg==="string"?{name:bg}:bg,v,aG.sort));
return h("div",{class:bV==="Devices"?"scroll whole":"scroll",key:bV,role:"region","aria-label":bV,tabindex:"0","data-sight":aG.sight??null},h("table",{"aria-rowcount":aG.rows&&aG.rows+1},h("caption",{class:"unseen"},bV),h("thead",{},h("tr",{},dB)),h("tbody",{},rows)))}
function head({name:f,sort:br},v,bK){if(!br)return h("th",{scope:"col",key:f||`c${v}`},f||h("span",{class:"unseen"},"Actions"));
const bP=bK?.column!==br?"none":bK.down?"descending":"ascending";
const dj={none:"",ascending:" ↑",descending:" ↓"}[bP];
return h("th",{scope:"col",key:f,"aria-sort":bP},h("button",{type:"button",class:"sorts","data-act":"sort","data-column":br},f,h("span",{"aria-hidden":"true"},dj)))}
function nameOf(f){return h("span",{class:"name cut",title:f},f)}
function button(N,bo){return h("button",{type:"button",...bo},N)}
const VERBS={cancel:"Cancel",kill:"Kill",retry:"Retry"};
function endButton(ah,bR,N,a){const{id:A,name:f,owner:ay}=bR;
const aP={"data-id":A,"data-name":f};
if(a.asked.has(A))return button("asked…",{...aP,"aria-label":`${VERBS[ah]} ${f} ${N}`,disabled:true});
if(!ay)return button(VERBS[ah],{...aP,"data-act":ah,"aria-label":`${VERBS[ah]} ${f} ${N}`});
if(a.doubted!==A){return button(`${VERBS[ah]}…`,{...aP,"data-act":"doubt","data-owner":ay,"aria-label":`${VERBS[ah]} ${f} ${N} of ${ay}`})}
return h("span",{class:"ask nowrap"},button("Keep",{...aP,"data-act":"keep","aria-label":`Keep ${f} of ${ay}`})," ",button(`${VERBS[ah]} it`,{...aP,"data-act":ah,class:"urgent","aria-label":`${VERBS[ah]} ${f} of ${ay} all the same`}))}
function chip(q){return h("span",{class:"chip"},q)}
function empty(q,bf){return h("p",{class:"quiet empty",key:"empty"},q,bf&&" ",bf&&h("code",{},bf))}
function stateCell(cy,R,ao){const b3=ao!=null&&(R==="running"||R==="alive")?` ink c${ao}`:"";
return h("td",{class:`nowrap state ${R}`},h("span",{class:`sign${b3}`,"aria-hidden":"true"},cy),` ${R}`)}
function whereCell(E,a){const ay=E.startsWith("[")?"":E.replace(/ \[\d+\].*/,"");
const ag=ay.length>24?[h("span",{class:"cut",title:ay},ay),E.slice(ay.length)]:[E];
return cell(E&&a.goes(E)?h("button",{type:"button",class:"goes","data-act":"go","data-cell":E,title:"Show the cell"},ag):ag,"nowrap where")}
function cell(a8,G){return h("td",G?{class:G}:{},a8)}
const MOST_CHARACTERS=200_000;
const MOST_LINES=2_000;
function withLog(z,s){const af=[{text:s.out.text,err:false},{text:s.err.text,err:true}].filter((dR)=>dR.text);
const gap=z&&(s.out.left_out||s.err.left_out)?[{text:"… too much was printed to show all of it …\n",err:true}]:[];
let a2=[...(z?.pieces??[]),...gap,...af];
let size=a2.reduce((aN,{text:q})=>aN+q.length,0);
while(size>MOST_CHARACTERS&&a2.length>1){size-=a2[0].text.length;
a2=a2.slice(1)}
return{pieces:a2,out:s.out.to,err:s.err.to,over:s.over,pid:s.pid?String(s.pid):"",done:s.over&&Boolean(z?.over)&&!af.length,failure:s.failure,yours:s.yours??"",note:s.note,left:z?.left||Boolean(s.out.left_out||s.err.left_out)}}
function logLines(a2){const ar=[];
const aH={false:null,true:null};
for(const{text:q,err:aY}of a2){const $=q.split("\n");
$.forEach((S,v)=>{const a_=aH[String(aY)]??{text:"",err:aY};
if(aH[String(aY)]===null&&(S||v<$.length-1))ar.push(a_);
a_.text+=S;
aH[String(aY)]=v<$.length-1?null:ar.includes(a_)?a_:null})}
return ar.map(({text:q,err:aY})=>({text:plain(q.replace(/\r+$/,"").split("\r").at(-1)?.replaceAll("\t","    ")),err:aY}))}
function logRow(a,ac){const at=a.log;
if(!at)return null;
const o=(a.past.task_log?.data??null);
return h("tr",{key:`log/${at.id}`,class:"logrow"},h("td",{colspan:ac},h("section",{class:"log","aria-label":`Log of ${at.name}`},logHead(at,o),...failureOf(o),printed(at,o))))}
function logHead(at,o){return h("div",{class:"line",key:"head"},h("strong",{},`Log of ${at.name}`),o?.pid&&h("span",{class:"quiet"},`all that its process has printed, pid ${o.pid}`),o&&!o.over&&h("span",{class:"chip"},"live"),h("label",{class:"aside quiet"},"Search ",h("input",{type:"search","data-search":"log",value:at.search,"aria-label":`Search the log of ${at.name}`})),button("Close",{"data-act":"close-log","aria-label":"Close the log"}))}
function failureOf(o){if(!o?.failure)return[];
const aA=h("pre",{tabindex:"0","aria-label":"The whole traceback"},o.failure);
if(!o.yours||o.yours===o.failure)return[h("div",{key:"failure",class:"failure"},aA)];
return[h("div",{key:"failure",class:"failure"},h("pre",{tabindex:"0","aria-label":"Your code in the traceback"},o.yours),h("details",{open:true},h("summary",{},"The whole traceback"),aA))]}
function printed(at,o){if(!o)return h("p",{class:"quiet",key:"none"},"Asking the kernel …");
const P=logLines(o.pieces);
const b6=at.search.trim().toLowerCase();
const ap=b6?P.filter(({text:q})=>q.toLowerCase().includes(b6)):P;
const dN=o.note||(b6&&P.length?"No line has this text.":o.over?"It has printed nothing.":"It has printed nothing yet.");
const cY=[b6&&P.length&&`${ap.length} of ${count(P.length,"line")}`,o.left&&"the beginning is only in %accel_logs",ap.length>MOST_LINES&&`the last ${MOST_LINES} lines`].filter(Boolean);
return h("div",{key:"printed"},cY.length>0&&h("p",{class:"quiet",role:"status"},cY.join(" · ")),ap.length?h("pre",{class:"printed",tabindex:"0","aria-label":"What it has printed"},ap.slice(-MOST_LINES).map(({text:q,err:aY},v)=>h("span",{key:`l${v}`,class:aY?"err":null},`${q}\n`))):h("p",{class:"quiet"},dN))}
function followLog(i,a){const y=a.log?.follow&&i.querySelector(".printed");
if(y)y.scrollTop=y.scrollHeight}
const FIND_EVERY_MS=1000;
const FOUND_AT_FIRST=200;
const MOST_FOUND=1000;
function findKey({filter:D,wide:ed}){return D.state||D.cell||D.text.trim()?JSON.stringify([D,ed]):""}
function foundNow(a){const w=findKey(a);
return w&&a.found?.key===w?a.found:null}
function finder(H,a){let Q=0;
let B="";
let aD;
const bv=()=>{clearTimeout(aD);
aD=undefined;
const w=a.details&&a.tab==="tasks"?findKey(a):"";
if(!w)return;
Q=Date.now();
B=w;
H.send({say:"find",id:a.id,key:w,filter:a.filter,limit:a.wide?MOST_FOUND:FOUND_AT_FIRST})};
const dx=()=>{if(findKey(a)!==B)bv();
else aD??=setTimeout(bv,Math.max(0,Q+FIND_EVERY_MS-Date.now()))};
return{find:dx,end:()=>clearTimeout(aD)}}
function laneName(e){return`${(e.node_id??"").slice(0,12)}/${e.resource}/${e.id}`}
const KEPT_S=120;
const LETTERS="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const MOST_DEVICES=128;
function hasLines(c){const W=c.devices??[];
return W.length<=MOST_DEVICES&&W.some((row)=>row.metrics)}
function withReadings(z,s){const L=z?.origin===s.origin&&z?.step===s.step_s?z:null;
const ax=s.first+s.steps;
const _=Math.max(ax-Math.round(KEPT_S/s.step_s),L?L.first:s.first);
const ar=new Map();
s.devices.forEach((du,v)=>{const f=s.prefix+du;
const o=L?.lines.get(f);
const a_=(S,cx=1)=>Array.from({length:ax-_},(eg,u)=>{const cz=_+u-s.first;
const bl=cz<0?o?.[S][_+u-(L?.first??0)]:null;
if(cz<0)return bl==null?null:bl*cx;
const aS=LETTERS.indexOf(s[S][v*s.steps+cz]);
return aS<0?null:aS/(LETTERS.length-1)});
const P={utilisation:a_("utilisation"),memory:a_("memory"),power:a_("power",L?L.watts/s.power_watts:1)};
ar.set(f,P).set(f.slice(f.indexOf("/")),P)});
return{since:s.seq,origin:s.origin,step:s.step_s,first:_,watts:s.power_watts,lines:ar}}
function linesOf(dV,row){return dV?.lines.get(laneName(row))??null}
function rowsQuestion(a,c){const cN=(A)=>a.past[`rows/${A}`]?.due??0;
const[bG]=(c.runs?.open(a)??[]).sort((O,K)=>cN(O)-cN(K));
return bG?{ask:"rows",key:`rows/${bG}`,record:bG}:null}
function placeOf({ask:bv,key:w}){return bv==="rows"?w:bv}
function withRows(z,s){const rows=new Map(z?.rows);
for(const[w,row]of Object.entries(s.rows))rows.set(w,row);
return{since:s.seq,total:s.total,rows}}
const LAST_MINUTE=60;
const WHOLE_RUN=0;
let views=0;
function newState(dr){views+=1;
return{id:`nbaccel-${views}-${Math.random().toString(36).slice(2,8)}`,details:dr,listed:false,tab:"devices",filter:{state:"",cell:"",text:""},sort:{column:"",down:false},held:null,order:[],open:new Set(),device:"",scrolled:{top:0,height:460,row:46},sights:new Map(),tiles:undefined,heldSight:"",only:"",wide:false,window:LAST_MINUTE,range:null,shown:{from:0,to:1},lanes:{width:1000,left:110,right:990},room:1000,hover:{bar:"",style:""},rows:new Map(),asked:new Set(),doubted:"",found:null,retries:false,goes:()=>false,said:"",log:null,notices:false,past:{}}}
const LEAST_PAUSE_MS=250;
const LATE_MS=10_000;
const MINUTES_TOLD=3;
function questionOf(a,c,k){const{engine:cg,pid:bn}=c.runtime;
const a7=`${cg} ${bn??""} ${c.nodes?.[0]?.node_id??""}`;
if(a.only)return rowsQuestion(a,c);
const r=a.details?a.tab:"devices";
if(r==="runs")return rowsQuestion(a,c);
if(r==="devices"&&hasLines(c))return{ask:"readings",key:a7};
if(r==="tasks"&&a.log){const[w,o]=[`${a7} ${a.log.id}`,a.past.task_log];
const q=o?.key===w?o.data:null;
return q?.done?null:{ask:"task_log",key:w,task_id:a.log.id,out_since:q?.out??0,err_since:q?.err??0}}
if(r==="accounting")return{ask:"accounting",key:a7};
if(r!=="timeline")return null;
if(a.range)return{ask:"runs",key:`${a7} ${a.range.from} ${a.range.to}`,start:a.range.from,end:a.range.to};
if(a.window===WHOLE_RUN)return{ask:"runs",key:`${a7} all`};
const o=a.past.runs;
const dW=o?.start&&o.key===`${a7} last`&&k-o.start<MINUTES_TOLD*LAST_MINUTE;
return{ask:"runs",key:`${a7} last`,start:dW?o.start:k-a.window}}
function historian(H,a,k){let Q=0;
let aD;
let B=-LATE_MS;
const dJ=()=>{if(Date.now()-B<LATE_MS)return;
B=Date.now();
H.send({say:"past"})};
let bB=true;
const aF=()=>{bB=true;
clearTimeout(aD);
const c=H.snapshot();
const aU=c&&!c.ended?questionOf(a,c,k()):null;
if(!aU)return;
if(!["readings","task_log","rows"].includes(aU.ask)&&!c?.past)return void dJ();
const place=placeOf(aU);
const o=a.past[place];
const L=o?.key===aU.key&&o.start===aU.start;
const b9=Math.max(L?o.due:0,Q+LEAST_PAUSE_MS)-Date.now();
if(b9>0)return void(aD=setTimeout(aF,b9));
Q=Date.now();
const m=L||aU.ask==="runs"?(o?.data??null):null;
a.past[place]={key:aU.key,start:aU.start,due:Q+LATE_MS,data:m};
H.send({say:"history",id:a.id,...aU,since:L?(m?.since??0):0})};
const bi=(C)=>{const bm=a.past[placeOf(C)];
if(bm?.key!==C.key)return;
const s=JSON.parse(C.answer);
const aW={readings:withReadings,task_log:withLog,rows:withRows}[(C.ask)]??H.snapshot()?.past?.told[C.ask];
if(aW)bm.data=aW(bm.data,s);
bm.due=Date.now()+1000*s.pause_s;
const dz=C.ask==="task_log"||(C.ask==="rows"&&!s.pause_s);
if(dz&&bB)aF()};
const ax=()=>{bB=false;
clearTimeout(aD)};
return{look:aF,heard:bi,end:ax}}
const HEIGHT=16;
function shape(al,ak=false){const b5=al.map((aS,u)=>(aS==null?null:`${u} ${Math.round(10*(HEIGHT-1-aS*(HEIGHT-2)))/10}`));
let ct="";
let aQ=-1;
b5.forEach((b4,u)=>{if(b4!=null)ct+=(b5[u-1]==null?"M":"L")+b4;
if(b4!=null&&b5[u-1]==null)aQ=u;
if(b4!=null&&b5[u+1]==null&&ak)ct+=`L${u} ${HEIGHT}L${aQ} ${HEIGHT}Z`});
return ct}
function spark(ar,bo={}){const d3=Math.max(2,...ar.map(({levels:al})=>al.length));
return h("svg",{class:"spark",viewBox:`0 0 ${d3-1} ${HEIGHT}`,preserveAspectRatio:"none","aria-hidden":"true",...bo},ar.map(({levels:al,kind:G})=>[G==="area"&&h("path",{key:"under",class:"under",d:shape(al,true)}),h("path",{key:G,class:G,d:shape(al)})]).flat())}
function between(al){const o=(al??[]).filter((aS)=>aS!=null);
const aT=(aS)=>`${Math.round(100*aS)} %`;
return o.length>1?`between ${aT(Math.min(...o))} and ${aT(Math.max(...o))} in the last two minutes`:""}
const GROUPS=8;
function heldWords({heldBy,devicesFree:cL,devicesTaken:bx,ended:ae}){if(ae)return[];
const a1=heldBy.slice(0,GROUPS).map(({name:f,number:l,colour:ao},u)=>[u>0&&", ",h("span",{key:f,class:"nowrap"},h("span",{class:`swatch c${ao}`,"aria-hidden":"true"}),` ${f}${l>1?` × ${l}`:""}`)]).flat();
const aG=heldBy.length>GROUPS&&` and ${heldBy.length-GROUPS} more`;
const aI=[cL&&`${cL} free`,bx&&`${bx} taken by others`].filter(Boolean).map((E)=>` · ${E}`).join("");
return[a1.length?"Held by ":"Nobody holds one",...a1,aG,aI]}
function shareBar({heldBy,deviceTotal:aj,devicesTaken:bx}){const S=(G,ba)=>h("span",{key:G,class:`part ${G}`,style:`width:${Math.round(1000*ba/aj)/10}%`});
return h("span",{class:"bar","aria-hidden":"true"},heldBy.map(({colour:ao,share:ba})=>S(`c${ao}`,ba)),bx>0&&S("taken",bx))}
const GAP_PX=4;
function drawTiles(b,a){const{devices:W,devicesBefore:ce,deviceTotal:aj}=b;
const inSight=W.length<aj?a.tiles??{row:40,columns:20}:null;
const ar=(l)=>Math.ceil(l/(inSight?.columns??1))*(inSight?.row??0);
const cU=W.some((e)=>e.lines);
const a$=h("ul",{class:cU?"tiles lined":"tiles","aria-label":"Devices"},emptyLines("above",ar(ce)),W.map((e,v)=>knownTile(e,inSight?ce+v+1:0,aj,a)),emptyLines("below",ar(aj)-ar(ce+W.length)));
return h("div",{key:"tiles"},inSight?h("div",{class:"scroll of-tiles",role:"region",tabindex:"0","aria-label":`${aj} devices`},a$):a$,h("p",{class:"quiet small",key:"holders"},heldWords(b),cU&&" · Lines: load (filled), memory and power (dotted) of the last two minutes."),cardOf(W.find((e)=>e.key===a.hover.bar),a))}
function emptyLines(bQ,aC){return aC>GAP_PX&&h("li",{key:bQ,class:"gap","aria-hidden":"true",style:`height:${aC-GAP_PX}px`})}
function cardOf(e,a){if(!e)return null;
const{node:g,label:N,model:x,holders,utilisation,memory,facts,reason:bp}=e;
const aq=holders.map((j)=>h("div",{key:j.key},h("span",{class:`swatch c${j.colour}`}),h("strong",{},j.name)," ",[j.part,j.cell&&`cell ${j.cell}`,j.owner,j.age].filter(Boolean).join(" · ")));
return h("div",{class:"hover",key:"hover",style:a.hover.style,"aria-hidden":"true"},h("strong",{},[g,N].filter(Boolean).join(" ")),` ${e.state}`,aq,h("div",{class:"quiet small"},[utilisation?.text,memory?.text,facts,between(e.lines?.utilisation),bp].filter(Boolean).join(" · ")||x))}
function knownTile(e,place,V,a){const ai=e.key===a.device;
const E=tileWords(e);
const a8=[E,ai,place,e.holders.map((j)=>`${j.colour}/${j.fraction}`)].join("\n");
const o=a.rows.get(`tile ${e.key}`);
if(o?.content===a8&&o.of===e.lines)return o.shape;
const shape=tile(e,E,ai,place?{"aria-posinset":place,"aria-setsize":V}:{});
a.rows.set(`tile ${e.key}`,{content:a8,shape,of:e.lines});
return shape}
function tile(e,E,ai,cu){const l=e.label.replace(/^\S+ /,"");
const $=e.holders.map((j)=>h("span",{class:`part c${j.colour}`,style:`width:${100*j.fraction}%`}));
return h("li",{key:e.key,...cu},h("button",{type:"button",class:"tile","data-act":"tile","data-device":e.key,"data-bar":e.key,"aria-expanded":String(ai),"aria-label":E},h("span",{class:"number"},l),e.utilisation&&h("span",{class:"load quiet"},e.utilisation.text),h("span",{class:"bar"},$.length||!e.reason?$:h("span",{class:"part taken"})),e.lines&&spark(linesIn(e.lines))))}
function linesIn({utilisation,memory,power}){return[{levels:utilisation,kind:"area"},{levels:memory,kind:"line"},{levels:power,kind:"dots"}]}
function tileWords(e){const holders=e.holders.map((j)=>[j.name,j.part,j.cell&&`cell ${j.cell}`,j.owner].filter(Boolean).join(" "));
const facts=[e.utilisation?.text,e.memory?.text,e.facts,between(e.lines?.utilisation),e.reason].filter(Boolean);
return`${[e.node,e.label].filter(Boolean).join(" ")}, ${e.state}${holders.length?`: ${holders.join("; ")}`:""}${facts.map((dv)=>`, ${dv}`).join("")}`}
const MOST_ROWS=8;
function drawDevices(b,a){if(!b.deviceTotal){return[empty(["No accelerator.",...b.found,"This counts two logical ones:"].join(" "),"nbaccel.init(num_gpus=2)")]}
if(b.deviceTotal<=MOST_ROWS)return[models(b),rows(b.devices,b,a)];
return[models(b),drawTiles(b,a),b.chosenDevice&&rows([b.chosenDevice],b,a)]}
function models({sameModel:dZ,deviceTotal:aj,devices:W}){if(!dZ)return null;
const[{model:x,mark:cW}]=W;
return h("p",{class:"quiet small models",key:"models"},`${aj} × ${x} `,cW&&chip(cW))}
function rows(W,b,a){const b0=W.some((e)=>e.utilisation||e.memory);
const bq=W.some((e)=>e.node);
const af=b.sameModel;
const ac=["Device",...(bq?["Node"]:[]),b.ended?"State":"In use",...(b0?["Load, memory, power"]:[]),...(b.ended?[]:["Held by"])];
return table("Devices",ac,W.map((e)=>row(e,{several:bq,measured:b0,said:af},b,a)))}
function row(e,{several:bq,measured:b0,said:af},b,a){return h("tr",{key:e.key,"data-device":e.label},h("th",{scope:"row",title:e.title||null},h("span",{class:"label"},e.label),!af&&e.mark&&chip(e.mark),!af&&h("span",{class:"quiet small model"},e.model)),bq&&h("td",{class:"quiet"},e.node),h("td",{class:"use"},!b.ended&&useBar(e),h("span",{class:"nowrap"},h("span",{class:"sign","aria-hidden":"true"},e.sign),` ${e.state}`)),b0&&h("td",{class:"load",title:e.facts},meter("utilisation",e,e.utilisation),meter("memory",e,e.memory),e.power&&meter("power",e,e.power)),!b.ended&&h("td",{class:"holders"},holders(e,b,a)))}
function useBar(e){const $=e.holders.map((j)=>h("span",{key:j.key,class:`part c${j.colour}`,style:`width:${100*j.fraction}%`}));
return h("div",{class:"bar",role:"img","aria-label":`${e.label}: ${e.use}`,title:e.use},$.length||!e.reason?$:h("span",{class:"part taken"}))}
function meter(bu,e,J){if(!J)return h("div",{class:"measure quiet small"},`${bu} unknown`);
const aT=Math.min(100,Math.max(0,Math.round(J.percent)));
const f=`${e.label} ${bu}`;
const al=e.lines?.[bu];
const af={title:[bu,between(al)].filter(Boolean).join(": ")};
const aa=al?spark([{levels:al,kind:"area"}]):h("span",{class:"part",style:`width:${aT}%`});
const cx=bu==="power"?{role:"img","aria-label":`${f} ${J.text}`}:{role:"meter","aria-label":f,"aria-valuemin":"0","aria-valuemax":"100","aria-valuenow":aT,"aria-valuetext":J.text};
return h("div",{class:"measure",...af},bu==="power"&&!al?null:h("div",{class:al?"trend":"bar",...cx},aa),h("span",{class:"small"},J.text))}
function holders(e,b,a){const a$=e.holders.map((j)=>holderLine(j,e,b,a));
return[a$.length>0&&h("ul",{},a$),e.reason&&h("span",{class:"quiet"},e.reason)]}
function holderLine(j,e,b,a){const bQ=[j.cell&&`cell ${j.cell}`,j.owner].filter(Boolean).join(" of ");
const facts=[j.part,bQ,j.age].filter(Boolean).join(" · ");
return h("li",{key:j.key,title:j.pid},h("span",{class:`swatch c${j.colour}`,"aria-hidden":"true"}),h("span",{class:"who"},nameOf(j.name),h("span",{class:"quiet facts"},facts)),(j.taskId||j.actorId)&&stop(j,e,a))}
function stop(j,e,a){const ah=j.taskId?"cancel":"kill";
return endButton(ah,{id:j.taskId||j.actorId,name:j.name,owner:j.owner},`on ${e.label}`,a)}
const PALETTE={hues:[["#1575c3","#207cca","#056ebb"],["#99612a","#a06731","#a76e38"],["#149599","#229da0","#2da4a7"],["#b74977","#be507e","#c65785"],["#978d17","#9e9423","#908606"],["#9082f1","#897be9","#8274e1"],["#6aa173","#639a6d","#5c9366"],["#c27bc6","#bb74bf","#b36db8"]],failure:"#ec1c24",attention:"#c77700",waiting:"#808080",grounds:["#ffffff","#212121"]};
const HUES=PALETTE.hues.length;
const SHADES=PALETTE.hues[0].length;
function numberOf(q){let bW=2166136261;
for(let ci=0;ci<q.length;ci++)bW=Math.imul(bW^q.charCodeAt(ci),16777619);
return(bW^(bW>>>15))>>>0}
function colourOf(c,aV,A){const dE=c.hues?.[aV]??numberOf(aV)%HUES;
return dE*SHADES+(A?numberOf(A)%SHADES:0)}
function subjectOf(row){const aA=row.function||row.name;
return(row.kind??"task")==="task"?aA:aA.split(".",1)[0]}
function inkOn(ao){const[dU,dy,K]=[1,3,5].map((u)=>parseInt(ao.slice(u,u+2),16)/255).map((S)=>(S<=0.03928?S/12.92:((S+0.055)/1.055)**2.4));
return 0.2126*dU+0.7152*dy+0.0722*K>0.179?"#000":"#fff"}
function colourRules(d_){return PALETTE.hues.flat().map((ao,l)=>`${d_} .c${l}{background:${ao};fill:${ao};--c:${ao};--on:${inkOn(ao)}}`).join("\n")}
const STATES=["running","waiting","failed","cancelled","finished"];
function taskCounts(c){const F=Object.fromEntries(STATES.map((a)=>[a,0]));
for(const[a,l]of Object.entries(c.counts??{})){const R=stateWord(a);
F[R]=(F[R]??0)+l}
return F}
function waitingViews(c,k){return(c.tasks??[]).filter((row)=>stateWord(row.state)==="waiting").sort((O,K)=>(O.submitted_at??0)-(K.submitted_at??0)).map((row)=>taskView(row,c,k))}
function taskViews(c,D,k){const q=D.text.trim().toLowerCase();
const rows=(c.tasks??[]).filter((row)=>passes(row,c,D,q));
return rows.map((row)=>taskView(row,c,k))}
function passes(row,c,D,q){if(D.state&&stateWord(row.state)!==D.state)return false;
if(D.cell&&cellOf(row,c)!==D.cell)return false;
if(!q)return true;
return[row.name,taskName(row.name),row.task_id,row.cell,whyOf(row,c),deviceWords(row.device_ids)].some((I)=>(I??"").toLowerCase().includes(q))}
function cellOf(row,c){return row.cell?cellWords(c,{job:row.job,cell:row.cell.split(" ")[0]}):""}
function cellsOf(c){const l=(cell)=>Number(/\[(\d+)\]$/.exec(cell)?.[1]??0);
const b3=(cell)=>(cell.startsWith("[")?0:1);
const dk=new Set((c.tasks??[]).map((row)=>cellOf(row,c)).filter(Boolean));
return[...dk].sort((O,K)=>b3(O)-b3(K)||l(O)-l(K))}
function whyOf(row,c){return row.reason==null?(row.why??""):(c.reasons?.[row.reason]??"")}
function withoutSubject(aX,row){const f=plain(row.name).replace(/\.__init__$/,"");
const cell=plain(row.cell);
if(!aX.startsWith(f))return aX;
let am=aX.slice(f.length+1);
if(cell&&am.startsWith(`(cell ${cell}`))am=am.slice(am.indexOf(") ")+2);
if(am.startsWith("waits for "))return am.includes(". ")?am.slice(am.indexOf(". ")+2):am;
return am.startsWith("asks ")?am:aX}
function taskView(row,c,k){const a=stateWord(row.state);
const c3=a==="waiting"?row.submitted_at:(row.started_at??row.submitted_at);
const aJ=ENDED.has(row.state);
return{id:row.task_id,short:shortId(row.task_id),name:taskName(row.name),sign:stateSign(a),state:a,devices:deviceWords(row.device_ids),pid:row.pid?String(row.pid):"",cell:cellWords(c,row),owner:ownerOf(c,row),age:c3==null?"":age((row.finished_at??k)-c3),started:row.started_at==null?"":clock(row.started_at,k),took:tookWords(row,a,k),subject:plain(subjectOf(row)),colour:colourOf(c,subjectOf(row),row.actor_id||row.task_id),keys:{submitted:row.submitted_at??0,started:row.started_at??Infinity,took:row.started_at==null?-1:(row.finished_at??k)-row.started_at},peak:row.peak_memory_bytes==null?"":size(row.peak_memory_bytes),why:[row.retry_of&&`retry of #${shortId(row.retry_of)}`,row.choice?`runs as ${plain(row.choice)}`:"",withoutSubject(plain(whyOf(row,c)),row)].filter(Boolean).join(": "),retryable:Boolean(row.retryable),asks:Object.keys(row.demand??{}).length?demandWords(row.demand):"",cancellable:!aJ&&row.state!=="ENDED_WITH_IT"}}
function tookWords(row,a,k){if(a==="waiting")return row.submitted_at==null?"":`waits ${age(k-row.submitted_at)}`;
if(row.started_at==null)return"";
const aw=(row.finished_at??k)-row.started_at;
if(row.finished_at!=null)return duration(aw);
const[ad,V]=row.progress??[0,0];
if(!V)return age(aw);
const aE=ad>0&&ad<V?`${age((aw*(V-ad))/ad)} left`:"";
return[age(aw),`${Math.round((100*ad)/V)} %`,aE].filter(Boolean).join(" · ")}
function actorViews(c,k){return(c.actors??[]).map((row)=>actorView(row,c,k))}
function actorView(row,c,k){const a=row.state==="PENDING_CREATION"?"waiting":stateWord(row.state);
return{id:row.actor_id,name:plain(row.class_name)+(row.name?` “${plain(row.name)}”`:""),sign:stateSign(a),state:a,devices:deviceWords(row.device_ids),pid:row.pid?String(row.pid):"",cell:cellWords(c,row),owner:ownerOf(c,row),age:row.since==null?"":age(k-row.since),colour:colourOf(c,row.class_name,row.actor_id),calls:row.pending_calls?String(row.pending_calls):"",why:[row.restarts?`restarted ${row.restarts} ×`:"",plain(row.why)].filter(Boolean).join(" · "),alive:row.state!=="DEAD"}}
const MOST_OF_ONE=8;
const ORDER=["running","failed","waiting","cancelled","finished"];
const OVERSCAN=12;
const KEYS={task:(d)=>`${d.name}\n${d.short}`,state:(d)=>place(d.state),devices:(d)=>d.devices||"~",started:(d)=>d.keys.started,took:(d)=>d.keys.took};
function place(a){const u=ORDER.indexOf(a);
return u<0?ORDER.length:u}
function ordered(U,br,aq){const w=KEYS[br.column];
const dc=(O,K)=>place(O.state)-place(K.state)||K.keys.submitted-O.keys.submitted;
const dn=(O,K)=>{if(!w)return dc(O,K);
const[c_,c0]=[w(O),w(K)];
const bP=c_<c0?-1:c_>c0?1:0;
return(br.down?-bP:bP)||dc(O,K)};
const bK=[...U].sort(dn);
if(!aq)return bK;
const z=new Map(aq.map((A,v)=>[A,v]));
return bK.sort((O,K)=>(z.get(O.id)??aq.length)-(z.get(K.id)??aq.length))}
function grouped(U,aH){const cc=new Map();
for(const d of U){const L=cc.get(d.subject);
if(L)L.push(d);
else cc.set(d.subject,[d])}
const rows=[];
for(const d of U){const L=cc.get(d.subject)??[];
if(L.length<=MOST_OF_ONE)rows.push({task:d,inGroup:false});
else if(L[0]===d)rows.push(...groupRows(L,aH.has(d.subject)))}
return rows}
function groupRows(U,aH){const F=new Map();
for(const d of U)F.set(d.state,(F.get(d.state)??0)+1);
const ad=F.get("finished")??0;
const aI=STATES.filter((a)=>a!=="finished"&&F.get(a)).map((a)=>`${F.get(a)} ${a}`);
const aB={subject:U[0].subject,tasks:U,open:aH,done:ad,failed:F.get("failed")??0,others:aI};
return[{group:aB},...(aH?U.map((d)=>({task:d,inGroup:true})):[])]}
function alike(bc){const by=new Map();
for(const d of bc){const w=`${d.name}\n${d.why}\n${d.asks}`;
const aB=by.get(w)??{task:d,number:0,ids:[]};
aB.number+=1;
aB.ids.push(d.id);
by.set(w,aB)}
return[...by.values()].sort((O,K)=>K.number-O.number)}
function inSight(l,aK){const bI=Math.ceil(aK.height/aK.row)+2*OVERSCAN;
const _=Math.max(0,Math.min(Math.floor(aK.top/aK.row)-OVERSCAN,l-bI));
return{first:_,last:Math.min(l,_+bI)}}
const MOST_CHIPS=8;
const NAMED_IN_FULL=4;
function drawCard(b,a){return[...(a.listed?drawDevices(b,a):[h("div",{key:"strip",class:"one-line strip",role:"group","aria-label":"Devices"},strip(b))]),h("div",{key:"most",class:"one-line most"},mostUrgent(b,a))]}
function strip(b){const{deviceTotal:aj,devices:W,ended:ae}=b;
if(!aj)return h("span",{class:"has quiet",title:[...b.found,"nbaccel.init(num_gpus=2)"].join(" ")},["No accelerator.",...b.found,"This counts two logical ones: "].join(" "),h("code",{},"nbaccel.init(num_gpus=2)"));
if(ae)return h("span",{class:"has quiet"},`It had ${aj} × ${b.sameModel||aj===1?[W[0].model,W[0].mark&&`(${W[0].mark})`].filter(Boolean).join(" "):"devices"}.`);
if(aj>MOST_CHIPS)return[shareBar(b),h("span",{class:"has",title:b.heldBy.map(({name:f,number:l})=>`${f} × ${l}`).join(", ")},heldWords(b))];
return W.map((e)=>deviceChip(e,aj))}
function deviceChip(e,V){const{label:N,holders,state:a,reason:bp}=e;
const af=holders.map(({name:f,part:S,cell,owner:ay,age})=>[f,...[S,[cell&&`cell ${cell}`,ay].filter(Boolean).join(" of "),age].filter(Boolean)].join(" · "));
const aq=holders.map((j,u)=>[u>0&&", ",h("span",{key:j.key,class:"name"},j.name),h("span",{class:"quiet"},af[u].slice(j.name.length))]).flat();
return h("span",{key:e.key,class:V>NAMED_IN_FULL?"device many":"device","data-device":N,title:[N,...(holders.length?af:[bp||a])].join(", ")},h("span",{class:"label"},V>NAMED_IN_FULL?N.replace(/^\S+ /,""):N),h("span",{class:"bar","aria-hidden":"true"},holders.map((j)=>h("span",{class:`part c${j.colour}`,style:`width:${100*j.fraction}%`})),!holders.length&&bp&&h("span",{class:"part taken"})),h("span",{class:"has"},holders.length?aq:h("span",{class:"quiet"},bp?`${a}: ${bp}`:a)))}
function mostUrgent(b,a){const{alerts:a5,nodes:dM,ended:ae}=b;
const X=a5.find(({kind:G})=>G==="failed")??a5[0];
if(X){const aG=a5.length>1&&button(`and ${a5.length-1} more`,{"data-act":"tab","data-tab":"alerts"});
return[h("span",{class:"has alert",title:X.message},h("strong",{},"⚠ Attention:"),` ${X.message}`),aG]}
const[aB]=ae?[]:alike(b.waiting);
if(aB)return waits(aB,b.counts.waiting-aB.number);
const c8=b.runs?.brief(a)??[];
if(c8.length)return c8.slice(0,2);
const bj=dM.find(({moves:dK})=>dK);
if(bj)return h("span",{class:"has",title:bj.why},h("span",{class:"sign","aria-hidden":"true"},`${bj.sign} `),nameOf(bj.name),` ${bj.state} `,h("span",{class:"quiet"},bj.why));
if(ae)return h("span",{class:"quiet"},b.endedAt);
if(b.taskTotal)return h("span",{class:"quiet"},"Nothing waits, and nothing needs attention.");
return h("span",{class:"has quiet",title:"f.remote()"},"No task yet. A call makes one: ",h("code",{},"f.remote()"))}
function waits({task:d,number:l},aI){const aX=d.why||d.asks;
return[h("span",{class:"has",title:aX},h("span",{class:"sign","aria-hidden":"true"},"◌ "),l>1&&`× ${l} `,nameOf(d.name),` waits ${d.age}: `,h("span",{class:"quiet"},aX)),aI>0&&button(`and ${aI} more`,{"data-act":"tab","data-tab":"waiting"})]}
function cancelMany(N,A,D,cq,a){const bR=cq?` ${cq}`:"";
const aP={key:A,"data-id":A,"data-name":N+bR,"data-function":cq,"data-state":D.state,"data-cell":D.cell,"data-text":D.text};
if(a.doubted!==A)return button(`${N}…`,{...aP,"data-act":"sure","aria-label":`${N}${bR}…`});
return h("span",{class:"ask nowrap",key:A},button("Keep",{...aP,key:"keep","data-act":"keep"})," ",button(N,{...aP,key:"do","data-act":"cancel-many",class:"urgent","aria-label":N+bR}))}
function drawWaiting(b,a){if(!b.counts.waiting)return[empty("Nothing waits. A task that finds no free device waits here, with the reason:","train.options(num_gpus=1).remote()")];
const by=alike(b.waiting);
const rows=by.map(({task:d,number:l})=>h("tr",{key:d.id,"data-task":d.id},nameCell(d,l),cell(d.asks,"nowrap"),whereCell(d.cell,a),cell(d.age,"short"),cell(d.why||h("span",{class:"quiet"},"asked for, not looked at yet"),"why"),cell(l>1?showAll(d,l):cancel(d,b,a),"acts")));
const aG=b.counts.waiting-b.waiting.length;
return[rows.length>0&&table("Waiting tasks",["Task","Asks for","Cell","For","Why it waits",""],rows),aG>0&&moreLine(`and ${aG} more that wait`,a),b.counts.waiting>1&&!b.ended&&h("p",{key:"all"},cancelMany("Cancel all that wait","waiting",{state:"waiting",cell:"",text:""},"",a))]}
function showAll(d,l){return button(`Show all ${l}`,{"data-act":"count","data-state":"waiting","data-text":d.name,"aria-label":`Show all ${l} ${d.name} that wait`})}
function nameCell(d,l){return h("th",{scope:"row"},nameOf(d.name),h("span",{class:"quiet small below"},l>1?`× ${l}`:`#${d.short}`))}
function cancel(d,b,a){if(!d.cancellable||b.ended)return null;
return endButton("cancel",d,`#${d.short}`,a)}
function moreLine(q,a){return h("p",{class:"more",key:"unsent"},h("span",{class:"quiet"},`${q} `),!a.wide&&button("Show more",{"data-act":"ask-more"}))}
function drawActors(b,a){if(!b.actors.length)return[empty("No actor. A remote class that is called makes one:","Counter.remote()")];
const rows=b.actors.map((Y)=>h("tr",{key:Y.id,"data-actor":Y.id},h("th",{scope:"row"},nameOf(Y.name),h("span",{class:"quiet small below"},[`#${Y.id.slice(0,8)}`,Y.pid&&`pid ${Y.pid}`].filter(Boolean).join(" · "))),stateCell(Y.sign,Y.state,Y.colour),cell(Y.devices,"nowrap"),whereCell(Y.cell,a),cell(Y.age,"short"),h("td",{"data-head":"calls waiting"},Y.calls),cell(Y.why,"why"),cell(Y.alive&&!b.ended&&endButton("kill",Y,`#${Y.id.slice(0,8)}`,a),"acts")));
return[table("Actors",["Actor","State","Devices","Cell","Age","Calls waiting","Why",""],rows),b.actorsMore>0&&h("p",{class:"quiet more",key:"more"},`and ${b.actorsMore} more actors`)]}
function drawAlerts(b){if(!b.alerts.length)return[empty("No alert. Failures, leaks, lost devices and requests that can never be met are told here, such as:","f.options(num_gpus=1000).remote()")];
return[h("ul",{class:"alerts",key:"alerts"},b.alerts.map((X)=>h("li",{key:X.key},h("strong",{},h("span",{"aria-hidden":"true"},"⚠ "),X.title),` ${X.message}`,h("span",{class:"quiet"},` · ${X.age} ago`))))]}
function drawNodes(b){const rows=b.nodes.map((g)=>h("tr",{key:g.key},h("th",{scope:"row"},h("span",{class:"name"},g.name)),stateCell(g.sign,g.state),cell(g.role),cell(g.resources),cell(g.why,"why")));
return[table("Nodes",["Node","State","Role","Resources","Why"],rows)]}
function drawTasks(b,a){const ak={peak:b.tasks.some((d)=>d.peak),why:b.tasks.some((d)=>d.why)};
a.order=b.tasks.map((d)=>d.id);
const rows=a.sort.column?b.tasks.map((d)=>({task:d,inGroup:false})):grouped(b.tasks,a.open);
const dD=b.tasksFound-b.tasks.length;
const ea=b.foundInAll?dD:b.taskTotal-b.taskRows;
return[filters(b,a),rows.length?tableOf(rows,ak,b,a):nothingFound(b),ea>0&&moreLine(`${b.tasks.length} of ${b.foundInAll?b.tasksFound:b.taskTotal} tasks are here`,a)]}
function tableOf(rows,ak,b,a){const ac=[{name:"Task",sort:"task"},{name:"State",sort:"state"},{name:"Devices",sort:"devices"},"Cell",{name:"Started",sort:"started"},{name:"Took",sort:"took"},...(ak.peak?["Peak memory"]:[]),...(ak.why?["Why"]:[]),""];
const{first:_,last:Q}=inSight(rows.length,a.scrolled);
const aa=rows.slice(_,Q).flatMap((row)=>{if("group"in row)return[groupRow(row.group,ac.length,b,a)];
const shape=knownRow(row.task,row.inGroup,ak,b,a);
return a.log?.id===row.task.id?[shape,logRow(a,ac.length)]:[shape]});
const{row}=a.scrolled;
return table("Tasks",ac,[gap("above",_*row),...aa,gap("below",(rows.length-Q)*row)].filter(Boolean),{rows:rows.length,sort:a.sort})}
function gap(bQ,aC){return aC>0&&h("tr",{key:bQ,class:"gap","aria-hidden":"true",style:`height:${Math.round(aC)}px`})}
function nothingFound(b){if(!b.taskTotal)return empty("No task yet. A remote function that is called makes one:","f.remote()");
return empty(b.foundInAll?"No task passes the filter.":"No task of these rows passes the filter.")}
function groupRow(aB,ac,b,a){const{subject:aV,tasks:U,open:aH,done:ad,failed:dw,others:aI}=aB;
const cs=b.taskTotal>b.taskRows&&!b.foundInAll;
const S=(G,l)=>l>0&&h("span",{key:G,class:`part ${G}`,style:`width:${(100*l)/U.length}%`});
const E=[...(cs?[]:[`${ad} of ${U.length}`]),...aI,...(cs?["others are not here"]:[])];
return h("tr",{key:`group/${aV}`,class:"group","data-function":aV},h("th",{scope:"row",colspan:ac},h("button",{type:"button",class:"opens","data-act":"group","data-function":aV,"aria-expanded":String(aH)},h("span",{"aria-hidden":"true"},aH?"▾ ":"▸ "),nameOf(aV)),!cs&&h("span",{class:"bar","aria-hidden":"true"},S(`c${U[0].colour}`,ad),S("failed",dw)),h("span",{class:"quiet"},E.map((I,u)=>[u>0&&" · ",I.endsWith(" failed")?h("span",{key:I,class:"state failed"},I):I]).flat()),!b.ended&&U.some((d)=>d.cancellable)&&cancelMany("Cancel all",`group/${aV}`,a.filter,aV,a)))}
function knownRow(d,bY,ak,b,a){const a8=[...Object.values(d),bY,ak.peak,ak.why,b.ended,a.asked.has(d.id),a.doubted===d.id,a.log?.id===d.id].join("\n");
const o=a.rows.get(d.id);
if(o?.content===a8)return o.shape;
const shape=taskRow(d,bY,ak,b,a);
a.rows.set(d.id,{content:a8,shape});
return shape}
function taskRow(d,bY,ak,b,a){const cb=[`#${d.short}`,d.pid&&`pid ${d.pid}`].filter(Boolean).join(" · ");
return h("tr",{key:d.id,"data-task":d.id,class:bY?"inner":null},h("th",{scope:"row"},nameOf(d.name),h("span",{class:"quiet small below"},cb)),stateCell(d.sign,d.state,d.colour),cell(d.devices||d.asks,d.devices?"nowrap":"quiet nowrap"),whereCell(d.cell,a),cell(d.started,"nowrap"),tookCell(d.took),ak.peak&&cell(d.peak,"nowrap"),ak.why&&cell(d.why&&h("span",{class:"two-lines",title:d.why},d.why),d.why?"why":""),cell([cancel(d,b,a),d.retryable&&a.retries&&!b.ended&&endButton("retry",d,`#${d.short}`,a),logs(d,b,a)],"acts"))}
function tookCell(d7){const[bL,...cP]=d7.split(" · ");
return cell([bL,cP.length>0&&[" ",h("span",{class:"quiet small below"},cP.join(" · "))]].flat(),"short")}
function logs(d,b,a){if(d.state==="waiting"||b.ended)return null;
return button("Log",{"data-act":"logs","data-id":d.id,"data-name":d.name,"aria-expanded":String(a.log?.id===d.id),"aria-label":`Log of ${d.name} #${d.short}`})}
function filters(b,a){const{filter:D}=a;
const b2=(J,N,ai)=>h("option",{key:J||"all",value:J,selected:J===ai},N);
return h("div",{class:"filters",role:"group","aria-label":"Filter tasks",key:"filters"},h("label",{},"State ",h("select",{"data-filter":"state",value:D.state},b2("","all",D.state),STATES.map((R)=>b2(R,`${R} (${b.counts[R]??0})`,D.state)))),h("label",{},"Cell ",h("select",{"data-filter":"cell",value:D.cell},b2("","all",D.cell),b.cells.map((f)=>b2(f,f,D.cell)))),h("label",{},"Text ",h("input",{type:"search","data-filter":"text",value:D.text,placeholder:"name, id, reason"})),(D.state||D.cell||D.text)&&!b.ended&&b.tasks.some((d)=>d.cancellable)&&cancelMany("Cancel all of these","these",D,"",a),!b.ended&&button("Notify me",{"data-act":"notices",class:"aside","aria-pressed":String(a.notices),title:"A notice of the browser when a task of more than a minute ends or fails"}),a.sort.column&&button("In the usual order",{"data-act":"sort","data-column":""}))}
const VIEWS={devices:drawDevices,waiting:drawWaiting,tasks:drawTasks,actors:drawActors,timeline:(b,a)=>b.pastViews?.drawTimeline(b,a)??loading(b),accounting:(b)=>(b.accounts?b.pastViews?.drawAccounts(b):null)??loading(b),alerts:drawAlerts,nodes:drawNodes,runs:(b,a)=>b.runs?.draw(a)??[]};
function drawFrame(b,a){const bw=a.details?[tabs(b,a),panel(b,a)]:drawCard(b,a);
return[header(b,a),...bw,h("p",{class:"said",key:"said",role:"status","aria-live":"polite"},a.said)]}
function drawOnly(b,a){const ag=b.runs?.only(a).flat()??[];
return[...(ag.length?ag:drawEmpty("Waiting for news of it …")),h("p",{class:"said",key:"said",role:"status","aria-live":"polite"},a.said)]}
function drawEmpty(E){return[h("p",{class:"quiet",key:"none"},E)]}
function loading(b){return[empty(b.ended?"This view was not opened before the end.":"Asking the kernel …")]}
function header(b,a){return h("header",{key:"header"},h("div",{class:"line top"},firstLine(b),b.ended&&h("span",{class:"chip"},b.ended),b.alerts.length>0&&h("button",{type:"button",class:"chip urgent","data-act":"tab","data-tab":"alerts"},h("span",{"aria-hidden":"true"},"⚠ "),count(b.alerts.length,"alert")),button(a.details?"Less":"Details",{"data-act":"details","aria-expanded":String(a.details),class:"aside"})),h("div",{class:"one-line quiet",title:b.title.join(" · ")},h("span",{class:"has"},(b.resources.length?b.resources:b.title).join(" · "))))}
function firstLine(b){const F=Object.entries(b.counts).filter(([,l])=>l);
const $=[...b.busy.map((E)=>h("strong",{key:E},E)),...F.map(([R,l])=>button(`${l} ${R}`,{key:R,class:`count ${R}`,"data-act":"count","data-state":R,title:`Show the ${R} tasks`}))];
const af=$.flatMap((S,v)=>(v?[h("span",{key:`dot${v}`,class:"quiet dot"}," · "),S]:[S]));
return h("span",{class:"first",title:b.title.join(" · ")},af,!F.length&&[af.length>0&&h("span",{class:"quiet dot"}," · "),h("span",{class:"quiet"},"no task yet")])}
function tabs(b,a){return h("div",{class:"tabs",role:"tablist","aria-label":"Views",key:"tabs"},b.tabs.map((T)=>{const ai=T.id===a.tab;
return h("button",{type:"button",key:T.id,role:"tab",id:`${a.id}-${T.id}`,"aria-selected":String(ai),"aria-controls":`${a.id}-panel`,tabindex:ai?"0":"-1","data-act":"tab","data-tab":T.id},T.urgent&&h("span",{"aria-hidden":"true"},"⚠ "),T.label,T.badge>0&&h("span",{class:T.failed?"badge failed":"badge",title:T.failed?"failed":null},String(T.badge)))}))}
function panel(b,a){const r=VIEWS[a.tab]??drawDevices;
return h("div",{role:"tabpanel",id:`${a.id}-panel`,"aria-labelledby":`${a.id}-${a.tab}`,tabindex:"-1",key:`panel-${a.tab}`,class:"panel"},...r(b,a).flat())}
const LONG_ID=20;
function deviceLabels(rows){const G=(row)=>`${row.node_id??""}/${row.resource}`;
const az=new Set(rows.filter((row)=>!row.parent).map((row)=>`${G(row)}/${row.id}`));
const cH=new Map();
const bA=new Map();
for(const row of rows){if(!row.parent){bA.set(row,`${plain(row.resource)} ${short(row.id)}`);
continue}
const w=`${G(row)}/${row.parent}`;
const cd=cH.get(w)??{number:firstFree(G(row),az),instances:0};
cH.set(w,cd);
const dT=row.profile?` (${plain(row.profile)})`:"";
bA.set(row,`${plain(row.resource)} ${cd.number} · MIG ${cd.instances++}${dT}`)}
return bA}
function firstFree(G,az){let l=0;
while(az.has(`${G}/${l}`))l+=1;
az.add(`${G}/${l}`);
return l}
function short(A){return plain(A).length>LONG_ID?`${plain(A).slice(0,12)}…`:plain(A)}
const MOST_TILES=128;
const LINES_BEYOND=1;
function devicesOf(c,k,B){const rows=(c.devices??[]).filter((row)=>row.offered!==false);
const bq=new Set(rows.map((row)=>row.node_id)).size>1;
const a1=new Map((c.nodes??[]).map((g)=>[g.node_id,plain(g.name)]));
const r=(row)=>({...deviceView(row,bA.get(row)??"",bq?(a1.get(row.node_id??"")??row.node_id?.slice(0,8)??""):"",c,k),lines:row.metrics?linesOf(B?.past?.readings?.data,row):null});
const{first:_,last:Q}=tilesInSight(rows.length,B?.tiles);
const aa=rows.slice(_,Q);
const ai=B?.device?rows.find((row)=>deviceKey(row)===B.device):null;
const bA=deviceLabels(rows.some((row)=>row.parent)?(c.devices??[]):ai?[...aa,ai]:aa);
return{devices:B?aa.map(r):[],devicesBefore:_,deviceTotal:rows.length,sameModel:rows.length>1&&new Set(rows.map(modelOf)).size===1,chosenDevice:ai?r(ai):null,heldBy:heldBy(rows,c),devicesFree:rows.filter((row)=>!row.holders?.length&&!row.free_reason).length,devicesTaken:rows.filter((row)=>!row.holders?.length&&row.free_reason).length}}
function tilesInSight(V,d1={top:0,height:460,row:40,columns:20}){if(V<=MOST_TILES)return{first:0,last:V};
const{top:bt,height:aC,row,columns:ac}=d1;
const Q=Math.min(V,ac*(Math.ceil((bt+aC)/row)+LINES_BEYOND));
return{first:Math.max(0,Math.min(Math.floor(bt/row)-LINES_BEYOND,Math.floor(V/ac)))*ac,last:Q}}
function heldBy(rows,c){const cp=new Map();
for(const row of rows){for(const j of row.holders??[]){const o=cp.get(j.name)??{number:0,share:0,first:j};
o.number+=1;
o.share+=Math.min(1,j.amount??1);
cp.set(j.name,o)}}
const P=[...cp].sort((O,K)=>K[1].number-O[1].number);
return P.map(([f,{number:l,share:ba,first:_}])=>({name:plain(f),number:l,share:ba,colour:colourOf(c,_.function||f)}))}
function deviceKey(row){return`${row.node_id??""}/${row.resource}/${row.id}`}
function modelOf(row){return`${row.name||row.type||row.family}·${row.parent?"":(row.profile??"")}·${row.kind??"real"}`}
function deviceView(row,N,g,c,k){const[cy,a]=deviceState(row);
const holders=holderViews(row.holders??[],c,k);
return{key:deviceKey(row),label:N,title:row.parent?plain(row.id):"",node:g,model:[unmarked(plain(row.name||row.type||row.family),row),row.parent?"":plain(row.profile)].filter(Boolean).join(" · "),mark:(row.kind??"real")==="real"?"":(row.kind??""),sign:cy,state:a,use:useWords(holders),utilisation:utilisation(row),memory:memory(row),power:power(row),facts:facts(row),reason:plain(row.free_reason),holders}}
function unmarked(x,row){return x.startsWith(`${row.kind} `)?x.slice(`${row.kind} `.length):x}
function deviceState(row){const aq=row.holders?.length;
if(row.over)return["–","given back"];
if(row.free_reason&&!aq)return["◼","taken"];
if(!aq)return["○","free"];
return(row.free??1)>0?["◐","shared"]:["●","held"]}
function holderViews(holders,c,k){const bX=holders.map((j)=>j.task_id??j.actor_id??j.name);
return holders.map((j,v)=>({key:bX[v],name:plain(j.name),part:(j.amount??1)===1?"":amount(j.amount??1),cell:plain(j.cell),owner:ownerOf(c,j),age:j.since?age(k-j.since):"",pid:j.pid?`pid ${j.pid}`:"",colour:colourOf(c,j.function||j.name,j.actor_id??bX[v]),fraction:Math.min(1,Math.max(0,j.amount??1)),taskId:j.task_id??"",actorId:j.task_id?"":(j.actor_id??"")}))}
function useWords(holders){if(!holders.length)return"nobody holds it";
return holders.map((j)=>`${j.name} ${j.part||"1"}`).join(", ")}
function utilisation(row){const aT=row.metrics?.utilisation_percent;
return aT==null?null:{percent:aT,text:`${Math.round(aT)} %`}}
function memory(row){const cE=row.metrics?.memory_used_bytes;
const V=row.metrics?.memory_total_bytes??row.memory_bytes;
if(cE==null||!V)return null;
return{percent:(100*cE)/V,text:`${size(cE)} of ${size(V)}`}}
function power(row){const de=row.metrics?.power_watts;
return de==null?null:{percent:0,text:`${Math.round(de)} W`}}
function facts(row){const $=[];
if(row.metrics?.temperature_celsius!=null)$.push(`${Math.round(row.metrics.temperature_celsius)} °C`);
if(row.metrics?.power_watts!=null)$.push(`${Math.round(row.metrics.power_watts)} W`);
return $.join(" · ")}
function afterEnd(c){const{shared:b7}=c.runtime;
const ck=(a)=>(ENDED.has(a)?a:"ENDED_WITH_IT");
const U=(c.tasks??[]).map((row)=>({...row,state:ck(row.state),reason:ENDED.has(row.state)?row.reason:null}));
const F={};
for(const[a,l]of Object.entries(c.counts??{}))F[ck(a)]=(F[ck(a)]??0)+l;
if(b7)delete F.ENDED_WITH_IT;
return{...c,devices:(c.devices??[]).map((row)=>({...row,holders:[],free_reason:"",metrics:null,over:true})),tasks:b7?U.filter((row)=>ENDED.has(row.state)):U,counts:F,actors:(c.actors??[]).map((row)=>({...row,state:"DEAD",pending_calls:0})),actor_counts:{}}}
const ALERTS={infeasible:"Can never start",leak:"Memory leak"};
const HIDDEN_RESOURCES=/^(node:|accelerator_type:|bundle_)|^(memory|object_store_memory)$|_group_/;
const BY_STATE={column:"",down:false};
const NO_FILTER={state:"",cell:"",text:""};
function sceneOf(ab,B,k){const ae=ab.lost?"the kernel has gone":!ab.ended?"":ab.runtime.shared?"left":"shut down";
const c=ae?afterEnd(ab):ab;
const F=taskCounts(c);
const T=B.tab;
const a9=c.runs?.(k,ae!=="",c);
const U=T==="tasks"?tasksOf(c,B,k):[];
return{title:titleOf(c),ended:ae,endedAt:ae&&`${ab.lost?"This was known":ab.runtime.shared?"Left":"Shut down"} at ${clock(ab.time??k,k)}.`,counts:F,busy:ae?[]:busyOf(c),resources:resourcesOf(c,ae!==""),tabs:tabsOf(c,F,a9),...devicesOf(c,k,T==="devices"?B:null),found:(c.found??[]).map(plain),waiting:waitingViews(c,k),tasks:U,tasksFound:B.found?.total??U.length,foundInAll:Boolean(B.found),taskRows:(c.tasks??[]).length,taskTotal:Object.values(F).reduce((aN,l)=>aN+l,0),cells:T==="tasks"?cellsOf(c):[],actors:T==="actors"?actorViews(c,k):[],actorsMore:actorsMore(c),runs:a9,pastViews:c.past,timeline:T==="timeline"&&c.past?c.past.timelineOf(c,B.window,k,B.range,B.past?.runs?.data):null,accounts:T==="accounting"&&c.past?c.past.accountsView(B.past?.accounting?.data,c,k):null,alerts:alertsOf(c,k),nodes:nodesOf(c,k)}}
function tasksOf(c,B,k){const ap=B.found;
const rows=ap?{...c,tasks:ap.tasks,reasons:ap.reasons}:c;
return ordered(taskViews(rows,ap?NO_FILTER:B.filter,k),B.sort??BY_STATE,B.held??null)}
function titleOf(c){const{engine:cg,version:ec,pid:bn,shared:b7}=c.runtime;
const cF=(c.nodes??[]).filter((g)=>g.alive!==false).length;
return["nbaccel "+plain(ec),`${plain(cg)} engine`,cF>1?count(cF,"node"):"",bn?`head pid ${bn}`:"",b7?"shared by several notebooks":""].filter(Boolean)}
function busyOf(c){const bZ=new Map();
const dA=new Set((c.nodes??[]).filter((g)=>g.alive===false).map((g)=>g.node_id));
for(const row of c.devices??[]){if(row.offered===false||dA.has(row.node_id??""))continue;
const G=bZ.get(row.resource)??{held:0,all:0};
G.all+=1;
if(row.holders?.length||row.free_reason)G.held+=1;
bZ.set(row.resource,G)}
if(bZ.size)return[...bZ].map(([f,{held:aq,all:P}])=>`${aq} of ${count(P,plain(f))} busy`);
const aN=(of)=>(c.nodes??[]).reduce((P,g)=>P+(g.alive===false?0:(g[of]?.CPU??0)),0);
return aN("totals")?[`${amount(aN("totals")-aN("available"))} of ${amount(aN("totals"))} CPUs busy`]:[]}
function resourcesOf(c,ae){const cA=new Map();
for(const g of c.nodes??[]){for(const[f,V]of g.alive===false?[]:Object.entries(g.totals??{})){if(HIDDEN_RESOURCES.test(f))continue;
const[ch,P]=cA.get(f)??[0,0];
cA.set(f,[ch+(g.available?.[f]??0),P+V])}}
return[...cA].map(([f,[ch,P]])=>`${plain(f)} ${ae?amount(P):`${amount(ch)} of ${amount(P)} free`}`)}
function tabsOf(c,F,a9){const a5=(c.alerts??[]).length;
const di=(c.actors??[]).filter((row)=>row.state!=="DEAD").length+actorsMore(c);
const tabs=[{id:"devices",label:"Devices",badge:0,urgent:false},{id:"waiting",label:"Waiting",badge:F.waiting,urgent:false},{id:"tasks",label:"Tasks",badge:F.failed,urgent:false,failed:true},{id:"actors",label:"Actors",badge:di,urgent:false},{id:"timeline",label:"Timeline",badge:0,urgent:false},{id:"accounting",label:"Accounting",badge:0,urgent:false},{id:"alerts",label:"Alerts",badge:a5,urgent:a5>0}];
if(a9)tabs.push({id:"runs",label:"Runs",badge:a9.active,urgent:false});
if((c.nodes??[]).length>1||c.arrivals?.length)tabs.push({id:"nodes",label:"Nodes",badge:0,urgent:false});
return tabs}
function actorsMore(c){const ag=(c.actors??[]).filter((row)=>row.state!=="DEAD").length;
const P=Object.entries(c.actor_counts??{}).filter(([a])=>a!=="DEAD");
return Math.max(0,P.reduce((aN,[,l])=>aN+l,0)-ag)}
function alertsOf(c,k){return(c.alerts??[]).map((X,v)=>({key:`${X.since}/${v}`,kind:X.kind,title:ALERTS[X.kind]??plain(X.kind[0].toUpperCase()+X.kind.slice(1)),message:plain(X.message),age:age(k-X.since),never:(X.kind==="infeasible"&&X.task_id)||"-"})).reverse()}
function nodesOf(c,k){const dC=(c.nodes??[]).map((g)=>({key:g.node_id,name:plain(g.name),sign:g.alive===false?"✕":"●",state:g.alive===false?"gone":"alive",role:g.is_head?"head":"",resources:resourcesOf({...c,nodes:[g]},Boolean(c.ended)).join(" · "),why:plain(g.why)||whyOfNode(g,k),moves:(g.leaves_at??0)>k}));
const dm=(c.arrivals??[]).map((I)=>({key:I.id,name:plain(I.node_type),sign:"◌",state:"arriving",role:"",resources:"",moves:true,why:`for ${duration(k-(I.since??k))}${I.usually_s?` (usually ${duration(I.usually_s)})`:""}${I.state?`: ${plain(I.state)}`:""}`}));
return[...dC,...dm]}
function whyOfNode(g,k){if(g.kept_by)return`stays: ${plain(g.kept_by)}`;
if(!g.leaves_at||!g.idle_since)return"";
const aE=g.leaves_at-k;
return`idle for ${duration(k-g.idle_since)}, ${aE>0?`leaves in ${duration(aE)}`:"kept for a request or its type's min"}`}
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
& .holders ul,& .alerts{list-style:none;margin:0;padding:0}
& .holders li{display:flex;gap:8px;align-items:center;margin:0;min-height:27px}
& .holders .who{min-width:0;overflow-wrap:anywhere}
& .holders .name{margin-right:8px}
& .holders .facts{display:inline-block}
& .holders li>button,& .holders li>.ask{margin-left:auto}
& .holders{padding-right:2px;min-width:230px}
& .swatch{display:inline-block;width:10px;height:10px;border-radius:3px;flex:none}
&{position:relative}
& .alerts{margin-top:6px}
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
function watchVisibility(M,Z){const t=M.ownerDocument;
const dg=t.defaultView??window;
let cZ=false;
let Q=null;
const aF=(aZ=false)=>{const a4=cZ&&!aZ&&t.visibilityState!=="hidden";
if(a4!==Q){Q=a4;
Z(a4,aZ)}else if(aZ)Z(false,true)};
const bD=new IntersectionObserver((cO)=>{cZ=cO[cO.length-1].isIntersecting;
aF()});
const c9=()=>aF();
const aZ=()=>aF(true);
bD.observe(M);
t.addEventListener("visibilitychange",c9);
dg.addEventListener("pagehide",aZ);
return()=>{bD.disconnect();
t.removeEventListener("visibilitychange",c9);
dg.removeEventListener("pagehide",aZ);
aF(true)}}
const MORE_ROWS=1000;
function mount(place,H,c$={}){const t=place.ownerDocument;
const i=t.createElement("div");
const bs=t.createElement("style");
bs.textContent=STYLE;
i.className="nbaccel-cockpit";
i.dataset.lmSuppressShortcuts="true";
place.append(bs,i);
const a=c$.state??newState(c$.details??false);
a.goes=(cell)=>Boolean(H.go)||isHere(i,cell);
a.retries=Boolean(H.retries);
const clock=kernelClock();
let a4=false;
const bk={running:(new Set())};
let bc=0;
const av=()=>{bc=0;
const c=H.snapshot();
const cR=i.contains(t.activeElement)?t.activeElement:null;
if(i.clientWidth)a.room=i.clientWidth-30;
if(!c)draw(i,drawEmpty("Waiting for the first snapshot of the cluster …"));
else drawSnapshot(i,c,a,c.ended?(c.time??0):clock.now());
if(cR&&!cR.isConnected)refocus(i,a)};
const bJ=()=>{if(a4&&!bc)bc=requestAnimationFrame(av)};
const cG=()=>{const c=H.snapshot();
if(c?.time)clock.heard(c.time);
forget(a,c);
if(a4&&!c?.ended)aF();
const aW=c?endings(bk,c):[];
if(a.notices)notify(t.defaultView,aW);
bJ()};
const bI=(k,aZ=false)=>{a4=k;
const bB=k||(a.notices&&!aZ);
H.send({say:bB?"visible":"hidden",view:a.id,rows:k&&a.wide?MORE_ROWS:0});
if(k)bz.look();
else bz.end();
bJ()};
const cQ=finder(H,a);
const bz=historian(H,a,clock.now);
const aF=()=>{cQ.find();
bz.look()};
const cf=[cQ.end,bz.end,H.subscribe(cG),actions(i,H,a,{redraw:bJ,more:()=>bI(a4),look:aF,recall:bz.heard,now:clock.now}),watchRows(i,a,bJ),watchVisibility(i,bI)];
const d5=setInterval(bJ,1000);
cG();
av();
return()=>{clearInterval(d5);
if(bc)cancelAnimationFrame(bc);
for(const ax of cf)ax();
bs.remove();
i.remove()}}
function drawSnapshot(i,c,a,k){const B={filter:a.filter,window:a.window,range:a.range,sort:a.sort,held:a.held,tab:a.details?a.tab:"devices",found:foundNow(a),past:a.past,device:a.device,tiles:a.tiles};
const b=sceneOf(c,B,k);
if(b.timeline)a.shown={from:b.timeline.start,to:b.timeline.start+b.timeline.seconds};
const aa=()=>((a.only?drawOnly(b,a):drawFrame(b,a)).filter(Boolean));
draw(i,aa());
if(measureTiles(i,a))return drawSnapshot(i,c,a,k);
if(a.tab==="tasks"&&measure(i,a))draw(i,aa());
if((a.tab==="runs"||a.only)&&measureRows(i,a))draw(i,aa());
followLog(i,a)}
function forget(a,c){if(a.rows.size>4*MORE_ROWS)a.rows.clear();
if(!a.asked.size||!c)return;
const a0=new Set((c.actors??[]).filter((row)=>row.state!=="DEAD").map((row)=>row.actor_id));
for(const row of c.tasks??[])if(!ENDED.has(row.state))a0.add(row.task_id);
for(const A of a.asked)if(!a0.has(A))a.asked.delete(A)}
function refocus(i,a){const dL=i.querySelector('[data-act="keep"]')??i.querySelector(a.details?'[role="tab"][aria-selected="true"]':'[data-act="details"]');
(dL)?.focus({preventScroll:true})}
function unpacked(ab){return{...ab,devices:rowsOf(ab.devices),tasks:rowsOf(ab.tasks)}}
function rowsOf(table){if(!table||Array.isArray(table))return table??[];
const rows=Array.from({length:table.rows},()=>({...(table.same)}));
const bh=(f,eb)=>rows.forEach((row,v)=>{const J=eb(v);
if(J!=null)row[f]=J});
for(const[f,bN]of Object.entries(table.each??{}))bh(f,(v)=>bN[v]);
for(const[f,[ds,cu]]of Object.entries(table.of??{}))bh(f,(v)=>ds[cu[v]]);
for(const[f,cj]of Object.entries(table.within??{})){const bN=rowsOf(cj);
bh(f,(v)=>bN[v])}
for(const[f,{sizes:d2,rows:cj}]of Object.entries(table.lists??{})){const bN=rowsOf(cj);
bh(f,(v)=>bN.splice(0,d2[v]))}
return rows}
function takePlaces(t,f,d$){const az=new Map();
const c6=(place)=>{if(!az.has((place)))az.set((place),d$((place)))};
const c7=(g)=>{if(g.nodeType!==1)return;
const M=(g);
if(M.classList.contains(f))c6(M);
for(const place of M.getElementsByClassName(f))c6(place)};
const bD=new MutationObserver((dX)=>{for(const[place,cl]of az){if(place.isConnected)continue;
az.delete(place);
cl()}
for(const bG of dX)for(const g of bG.addedNodes)if(g.isConnected)c7(g)});
bD.observe(t,{childList:true,subtree:true});
c7(t.documentElement);
return()=>{bD.disconnect();
for(const cl of az.values())cl()}}
function cover(place,bh){const c2=([...place.children]);
const a0=place.ownerDocument.createElement("div");
for(const I of c2)I.style.display="none";
place.append(a0);
const ax=bh(a0);
return()=>{ax();
a0.remove();
for(const I of c2)I.style.display=""}}
const PARTS={h,button,cell,empty,nameOf,table,rowsOf,PALETTE,age,amount,clock,count,demandWords,deviceWords,duration,hostWords,plain,stateWord,colourOf,subjectOf,deviceLabels,laneName,cellWords,LAST_MINUTE,WHOLE_RUN,inSight};
function loadedFrom(x,d8,Z){let B=false;
let cV=null;
return()=>{const bf=x.get(d8);
if(bf&&!B){B=true;
import(URL.createObjectURL(new Blob([bf],{type:"text/javascript"}))).then((cn)=>{cV=cn.default(PARTS);
Z()})}
return cV}}
function pastOf(x,Z){return loadedFrom(x,"past_code",Z)}
function runsOf(x,Z){const cn=loadedFrom(x,"runs_code",Z);
let q="";
let r=null;
return()=>{const[cM,k]=[cn(),x.get("runs")];
if(cM&&k!==q)r=cM(JSON.parse((q=k)));
return r}}
const OF="nbaccel-of-";
function sourceOf(x){let q="";
let cr=null;
let cm=false;
let cB=()=>{};
const a9=runsOf(x,()=>cB());
const bm=pastOf(x,()=>cB());
return{snapshot(){const k=x.get("snapshot");
if(k!==q){q=k;
cr=k?unpacked(JSON.parse(k)):null}
const ag=cr&&{...cr,runs:a9(),past:bm()};
return cm&&ag?{...ag,ended:true,lost:cm}:ag},subscribe(Z){const db=()=>{cm=true;
Z()};
cB=Z;
x.on("change:snapshot",Z);
x.on("change:runs",Z);
x.on("change:past_code",Z);
x.on("comm_live_update",db);
return()=>{x.off("change:snapshot",Z);
x.off("change:runs",Z);
x.off("change:past_code",Z);
x.off("comm_live_update",db)}},listen(bi){x.on("msg:custom",bi);
return()=>x.off("msg:custom",bi)},send:(C)=>x.send(C),retries:true}}
function render({model:x,el:dt}){return mount(dt,sourceOf(x),{state:newState(Boolean(x.get("details")))})}
function initialize({model:x}){const c4=new WeakMap();
return takePlaces(document,x.get("place"),(place)=>{const a=c4.get(place)??newState(place.classList.contains("nbaccel-details"));
a.only=[...place.classList].find((f)=>f.startsWith(OF))?.slice(OF.length)??"";
c4.set(place,a);
return cover(place,(a0)=>mount(a0,sourceOf(x),{state:a}))})}
export default{initialize,render};
