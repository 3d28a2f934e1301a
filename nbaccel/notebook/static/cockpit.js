// nbaccel's cockpit, joined from nbaccel/notebook/cockpit/ by tools/join_cockpit.py. Change it there.
function copyText(w,q){const cE=w.defaultView?.navigator.clipboard;
if(cE)cE.writeText(q).catch(()=>copySelected(w,q));
else copySelected(w,q)}
function copySelected(w,q){const aK=w.createElement("textarea");
aK.value=q;
aK.style.position="fixed";
w.body.append(aK);
aK.select();
w.execCommand("copy");
aK.remove()}
const STEP=0.8;
function isHere(i,H){return H.startsWith("[")&&Boolean(i.closest(".jp-Notebook"))}
async function d3(i,H,aw){const b2=i.closest(".jp-Notebook"),
w=i.ownerDocument.defaultView;
if(!b2||!w)return;
const cq=H.split(" ")[0],
ay=q=>[...b2.querySelectorAll(".jp-InputPrompt")].find(D=>D.textContent===`${q}:`)?.closest(".jp-Cell"),
bK=b2.querySelector(".jp-WindowedPanel-outer")??b2,
z=bK.scrollTop;
let cell=ay(cq);
for(let aW=0;!cell&&aW<bK.scrollHeight;aW+=STEP*bK.clientHeight){bK.scrollTop=aW;
await new Promise(ak=>w.requestAnimationFrame(()=>w.requestAnimationFrame(ak)));
cell=ay(cq)}
if(!cell)bK.scrollTop=z;
cell??=ay("[*]");
if(!cell)return aw(`No cell of this notebook is ${cq} any more.`);
cell.scrollIntoView({block:"center"});
(cell).focus({preventScroll:true})}
const SIZES=([[2**40,"TiB"],[2**30,"GiB"],[2**20,"MiB"],[2**10,"KiB"]]),
ENDED=new Set(["FINISHED","FAILED","CANCELLED"]),
RUNNING=new Set(["RUNNING","RUNNING_IN_RAY_GET","RUNNING_IN_RAY_WAIT","SUBMITTED_TO_WORKER"]);
function amount(bI){return String(Math.round(bI*10000)/10000)}
function size(bW){if(bW==null)return"unknown";
for(const[b8,U]of SIZES){if(bW>=b8){const I=bW/b8;
return`${I>=10||Number.isInteger(I)?Math.round(I):I.toFixed(1)} ${U}`}}
return`${bW} B`}
function age(aB){const aD=Math.max(0,Math.floor(aB));
if(aD<60)return`${aD} s`;
const[b8,b_,av,dJ]=aD<3600?["min",60,aD%60,"s"]:["h",3600,Math.floor((aD%3600)/60),"min"];
return`${Math.floor(aD/Number(b_))} ${b8}${av?` ${String(av).padStart(2,"0")} ${dJ}`:""}`}
function duration(aB){return aB<9.95?`${Math.max(0,aB).toFixed(1)} s`:age(aB)}
function clock(bO,k){const t=new Date(bO*1000),
bP=l=>String(l).padStart(2,"0"),
[dp,cF]=[`${bP(t.getMonth()+1)}-${bP(t.getDate())}`,`${bP(t.getHours())}:${bP(t.getMinutes())}`];
return t.toDateString()===new Date(k*1000).toDateString()?`${cF}:${bP(t.getSeconds())}`:`${dp} ${cF}`}
function plain(q){return(q??"").replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,dl=>`\\u${dl.charCodeAt(0).toString(16).padStart(4,"0")}`)}
function hostWords(g){return/^[\d.:]+$/.test(g)?g:g.split(".")[0]}
function count(l,cj){return l===1||cj.endsWith("s")?`${l} ${cj}`:`${l} ${cj}s`}
function demandWords(dq){const ae=Object.entries(dq??{}).filter(([,bI])=>bI);
return ae.map(([g,bI])=>`${amount(bI)} ${plain(g)}`).join(", ")||"nothing"}
function deviceWords(aL){return Object.entries(aL??{}).filter(([,a2])=>a2.length).map(([g,a2])=>`${plain(g)} ${a2.map(plain).join(", ")}`).join("; ")}
function shortId(B){const dQ=B.length===48&&B.startsWith("000000",24);
if(dQ)return`${B.slice(0,4)}-${parseInt(B.slice(30,40),16)}`;
return B.startsWith("f".repeat(16))?B.slice(16,28):B.slice(0,12)}
function taskName(g){return plain(g).replace(/\.__init__$/," (starting)")}
function stateWord(a){if(RUNNING.has(a))return"running";
if(a.startsWith("PENDING"))return"waiting";
return a.toLowerCase().replaceAll("_"," ")}
function stateSign(U){return{running:"●",waiting:"◌",finished:"✓",failed:"✕",cancelled:"⊘","ended with it":"–",alive:"●",dead:"✕"}[U]??"◌"}
function ownerOf(c,row){if(!row.job||row.job===c.runtime.job||!c.jobs?.length)return"";
return plain(c.jobs.find(dI=>dI.number===row.job)?.name??`job ${row.job}`)}
function cellWords(c,row){return[ownerOf(c,row),plain(row.cell)].filter(Boolean).join(" ")}
const LONG_S=60,
MOST_RUNNING=10_000;
function endings(bm,c){const told=[];
if(bm.running.size>MOST_RUNNING)bm.running.clear();
for(const row of c.tasks??[]){if(!ENDED.has(row.state)){if(row.started_at!=null&&!ownerOf(c,row))bm.running.add(row.task_id);
continue}
if(!bm.running.delete(row.task_id)||row.started_at==null)continue;
const aB=(row.finished_at??c.time??0)-row.started_at;
if(aB<LONG_S)continue;
const aX=row.reason==null?row.why:c.reasons?.[row.reason],
cw=`${plain(row.name)} #${shortId(row.task_id)} ${{FINISHED:"has finished",FAILED:"has failed"}[row.state]??`was ${stateWord(row.state)}`}`;
told.push({id:row.task_id,title:cw,body:[`after ${age(aB)}`,row.cell&&`cell ${plain(row.cell)}`,plain(aX)].filter(Boolean).join(" · ")})}
return told}
async function ec(w,a,aw){const bF=(w)?.Notification;
if(a.notices){a.notices=false;
aw("");
return}
if(!bF)return aw("This browser shows no notices.");
a.notices=(await bF.requestPermission())==="granted";
aw(a.notices?"The browser will tell you when a task of more than a minute ends or fails.":"The browser does not let this page show notices. Its settings for this site can change that.")}
function notify(w,told){const bF=(w)?.Notification;
if(!bF)return;
for(const{id:B,title:cw,body:by}of told)new bF(cw,{body:by,tag:`nbaccel-${B}`})}
const OFFERED="nbaccel-order";
function secondWay(i,M,E,taken){const bq=M.snapshot()?.runtime.pid,
dR=new CustomEvent(OFFERED,{bubbles:true,cancelable:true,detail:{message:E,pid:bq,taken}});
return!i.dispatchEvent(dR)}
const TILES=".scroll.of-tiles",
REGIONS=".scroll[data-sight]";
function watchRows(i,a,aA){const aJ=o=>{const A=(o.target);
if(A.matches?.(TILES))measureTiles(i,a);
else if(A.matches?.(REGIONS))note(A,a);
else return;
aA()};
const moved=o=>{const by=o.type==="pointerover"?(o.target).closest?.(`${REGIONS} tbody`):null,
aI=(by?.closest(REGIONS)??null)?.dataset.sight??"";
if(aI===a.heldSight)return;
a.heldSight=aI;
aA()};
return listening(i,aJ,moved)}
function listening(i,aJ,moved){i.addEventListener("scroll",aJ,true);
i.addEventListener("pointerover",moved);
i.addEventListener("pointerleave",moved);
return()=>{i.removeEventListener("scroll",aJ,true);
i.removeEventListener("pointerover",moved);
i.removeEventListener("pointerleave",moved)}}
function measureRows(i,a){const d$=([...i.querySelectorAll(REGIONS)]);
return d$.map(A=>note(A,a)).some(Boolean)}
function measureTiles(i,a){const A=i.querySelector(TILES),
tile=A?.querySelector("li:not(.gap)"),
list=tile?.parentElement;
if(!A||!tile||!list)return false;
const bv=getComputedStyle(list),
k={top:A.scrollTop,height:A.clientHeight,columns:bv.gridTemplateColumns.split(" ").length,row:tile.getBoundingClientRect().height+parseFloat(bv.rowGap)};
const z=a.tiles;
a.tiles=k;
return z?.columns!==k.columns||Math.abs(z.top-k.top)>k.row||Math.abs(z.height-k.height)>k.row||Math.abs(z.row-k.row)>0.1}
function note(A,a){const g=A.dataset.sight??"",
z=a.sights.get(g),
rows=A.querySelectorAll("tbody tr:not(.gap)");
if(!rows.length)return false;
const ar=(rows[rows.length-1].getBoundingClientRect().bottom-rows[0].getBoundingClientRect().top)/rows.length,
R=z&&(ar<8||Math.abs(ar-z.row)<4);
a.sights.set(g,{top:A.scrollTop,height:Math.max(A.clientHeight,100),row:R?z.row:ar});
return!R||Math.abs(z.top-A.scrollTop)>1}
const TASKS='.scroll[aria-label="Tasks"]';
function watchSight(i,a,aA){const aJ=o=>{const A=(o.target);
if(a.log&&A.matches?.(".printed"))a.log.follow=A.scrollTop+A.clientHeight>A.scrollHeight-4;
if(!A.matches?.(TASKS))return;
a.scrolled={...a.scrolled,top:A.scrollTop,height:A.clientHeight};
aA()};
const moved=o=>{const aI=o.type==="pointerover"&&Boolean((o.target).closest?.(`${TASKS} tbody`));
if(aI===Boolean(a.held))return;
a.held=aI?a.order:null;
aA()};
return listening(i,aJ,moved)}
function measure(i,a){const A=i.querySelector(TASKS);
if(!A?.querySelector("tr[data-task]"))return false;
const z=a.scrolled,
cN=eg=>[...A.querySelectorAll(eg)].map(D=>D.getBoundingClientRect().height),
cS=(u,m)=>{const k=u.reduce((aj,D)=>aj+D,0)/u.length;
return k>8&&Math.abs(k-m)>=4?k:m};
const[row,aN]=[cS(cN("tr[data-task]"),z.row),cS(cN("tr.reason"),z.reason)],
R=row===z.row&&aN===z.reason;
a.scrolled={top:A.scrollTop,height:Math.max(A.clientHeight,100),row,reason:aN};
return!R||Math.abs(a.scrolled.top-z.top)>1}
const SAY_EVERY_MS=5000;
function speaker(a,r){let T=0,
aE;
return H=>{clearTimeout(aE);
const b9=Math.max(0,T+SAY_EVERY_MS-Date.now());
aE=setTimeout(()=>{T=Date.now();
a.said=H;
r.redraw()},a.said?b9:0)}}
const LEAST_S=0.05,
LEAST_DRAG_PX=6,
CARD_PX=246,
HOVERS=["pointerover","pointerleave","focusin","focusout"];
function zoomed({from,to:a4},bV,place=0.5){const b_=Math.max(LEAST_S,(a4-from)*bV),
t=from+(a4-from)*place;
return{from:t-b_*place,to:t+b_*(1-place)}}
function moved({from,to:a4},be){const bV=(a4-from)*be;
return{from:from+bV,to:a4+bV}}
function keyed(y,aM){if(y==="+"||y==="=")return{range:zoomed(aM,0.5)};
if(y==="-")return{range:zoomed(aM,2)};
if(y==="ArrowLeft")return{range:moved(aM,-0.2)};
if(y==="ArrowRight")return{range:moved(aM,0.2)};
return y==="0"||y==="Home"?{range:null}:null}
function placeOfCard(i,bU){const[bj,a6]=[i.getBoundingClientRect(),bU.getBoundingClientRect()],
at=Math.max(8,Math.min(a6.left,bj.right-CARD_PX)-bj.left),
bx=a6.top-bj.top<bj.height/2?`top:${a6.bottom-bj.top+4}px`:`bottom:${bj.bottom-a6.top+4}px`;
return`left:${Math.round(at)}px;max-width:${CARD_PX-16}px;${bx}`}
function watchZoom(i,a,ab,aA){let aQ=null;
const c2=o=>(o.target).closest?.("svg.timeline"),
placeOf=(aO,ej)=>{const a6=aO.getBoundingClientRect(),
{width:ei,left:at,right:cr}=a.lanes;
return Math.min(1,Math.max(0,(((ej-a6.left)/a6.width)*ei-at)/(cr-at)))};
const dd=o=>{const aO=c2(o);
if(!aO||!(o.ctrlKey||o.metaKey))return;
o.preventDefault();
a.range=zoomed(ab(),o.deltaY>0?1.25:0.8,placeOf(aO,o.clientX));
aA(true)};
const pressed=o=>{const aO=c2(o);
aQ=aO&&o.button===0?{x:o.clientX,place:placeOf(aO,o.clientX)}:null};
const c_=o=>{const aO=i.querySelector("svg.timeline");
if(!aQ||!aO||Math.abs(o.clientX-aQ.x)<LEAST_DRAG_PX)return void(aQ=null);
const[at,cr]=[aQ.place,placeOf(aO,o.clientX)].sort((O,J)=>O-J),
{from,to:a4}=ab();
const aM={from:from+(a4-from)*at,to:from+(a4-from)*cr};
if(aM.to-aM.from>=LEAST_S)a.range=aM;
aQ=null;
aA(true)};
const cO=o=>{const aI=(/pointerover|focusin/.test(o.type)?(o.target).closest?.("[data-bar]"):null),
bU=aI?.dataset.bar??"";
if(bU===a.hover.bar)return;
a.hover={bar:bU,style:aI?placeOfCard(i,aI):""};
aA(false)};
const y=o=>{const dS=(o.target).matches?.('.scroll[aria-label="Timeline"]'),
ak=dS&&!o.ctrlKey&&!o.metaKey?keyed(o.key,ab()):null;
if(!ak)return;
a.range=ak.range;
o.preventDefault();
aA(true)};
i.addEventListener("wheel",dd,{passive:false});
i.addEventListener("pointerdown",pressed);
i.addEventListener("pointerup",c_);
for(const cx of HOVERS)i.addEventListener(cx,cO);
const ah=()=>{i.removeEventListener("wheel",dd);
i.removeEventListener("pointerdown",pressed);
i.removeEventListener("pointerup",c_);
for(const cx of HOVERS)i.removeEventListener(cx,cO)};
return{key:y,end:ah}}
const TAKEN_WITHIN_MS=1500;
function actions(i,M,a,r){const bQ=new Map(),
aw=speaker(a,r),
bH=(E,g)=>{a.doubted="";
M.send(E);
a.asked.add(E.id);
clearTimeout(bQ.get(E.id));
bQ.set(E.id,setTimeout(()=>{if(E.say!=="retry"&&secondWay(i,M,E,aw))return;
aw(`The kernel is busy and takes messages only between cells: ${g} is told when the running cell ends. To end the cell itself, use Stop.`)},TAKEN_WITHIN_MS));
r.redraw()};
const bi={cancel:n=>bH({say:"cancel",id:n.id},`${n.name}`),retry:n=>bH({say:"retry",id:n.id},`${n.name}`),kill:n=>bH({say:"kill",id:n.id},`${n.name}`),"cancel-run":n=>bH({say:"stop",id:n.id},`${n.name}`),doubt(n){a.doubted=n.id??"";
aw(`${n.name} belongs to ${n.owner}, not to this notebook.`)},notices:()=>void ec(i.ownerDocument.defaultView,a,aw).then(r.more),sure:n=>void(a.doubted=n.id??""),"cancel-many":n=>bH({say:"cancel-many",id:n.id,function:n.function,filter:{state:n.state,cell:n.cell,text:n.text}},`${n.name}`),keep(){a.doubted="";
aw("")},logs(n){delete a.past.task_log;
a.log=a.log?.id===n.id?null:{id:n.id??"",name:n.name??"",search:"",follow:true};
r.look()},"close-log":()=>void(a.log=null),go:({cell=""})=>void(M.go?M.go(cell):d3(i,cell,aw)),details(){a.details=!a.details;
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
a.held=null},group:n=>void(a.open.delete(n.function??"")||a.open.add(n.function??"")),tile:n=>void(a.device=a.device===n.device?"":(n.device??"")),copy(n){copyText(i.ownerDocument,n.text??"");
aw(`Copied ${n.name}.`)},trace(){const c=M.snapshot();
if(c?.past)save(i.ownerDocument,JSON.stringify(c.past.traceOf(c,r.now())))}};
const cD=o=>{const bg=((o.target).closest?.("[data-act]"));
if(!bg||bg.hasAttribute("disabled"))return;
const am=bg.dataset.act??"",
dH=(o).detail>1;
if(!dH||!/^(cancel|kill|retry)/.test(am))bi[am]?.(bg.dataset);
r.redraw()};
const c7=o=>{const aK=(o.target);
if(aK.dataset?.search&&a.log){a.log.search=aK.value;
r.redraw()}
const g=(aK.dataset?.filter);
if(!g)return;
a.filter={...a.filter,[g]:aK.value};
r.look();
r.redraw()};
const dg=watchZoom(i,a,()=>a.shown,aM=>{if(aM)r.look();
r.redraw()}),
y=o=>{if(!i.contains((o.target)))return;
dg.key(o);
pressed(o,i,bi,r)};
const bl=M.listen(E=>{if(E.say==="taken"){clearTimeout(bQ.get(E.id));
bQ.delete(E.id);
aw(E.words??"")}else if(E.say==="found"&&E.id===a.id){a.found=E.found}else if(E.say==="history"&&E.id===a.id){r.recall(E)}
r.redraw()}),
a9=[watchSight(i,a,r.redraw),dg.end];
i.addEventListener("click",cD);
i.addEventListener("input",c7);
const w=i.ownerDocument.defaultView;
w?.addEventListener("keydown",y,true);
return()=>{bl();
for(const ah of a9)ah();
for(const d9 of bQ.values())clearTimeout(d9);
i.removeEventListener("click",cD);
i.removeEventListener("input",c7);
w?.removeEventListener("keydown",y,true)}}
function pressed(o,i,bi,r){const bg=(o.target);
if(o.key==="Escape"&&i.querySelector('[data-act="keep"]'))bi.keep({});
else if(o.key==="Escape"&&i.querySelector(".log"))bi["close-log"]({});
else if(bg.getAttribute("role")==="tab"){const tabs=([...i.querySelectorAll('[role="tab"]')]),
t=tabs.indexOf(bg),
cU={ArrowRight:t+1,ArrowLeft:t-1,Home:0,End:tabs.length-1}[o.key];
if(cU!==undefined){const S=tabs[(cU+tabs.length)%tabs.length];
bi.tab(S.dataset);
S.focus();
o.preventDefault()}}
if(o.key!=="Tab")o.stopPropagation();
r.redraw()}
function save(w,q){const b$=w.createElement("a");
b$.href=URL.createObjectURL(new Blob([q],{type:"application/json"}));
b$.download="nbaccel-trace.json";
b$.click();
setTimeout(()=>URL.revokeObjectURL(b$.href),1000)}
function kernelClock(db=()=>Date.now()/1000){let ca=0;
return{heard(bO){ca=Math.max(ca,bO-db())},now:()=>db()+ca}}
const SVG="http://www.w3.org/2000/svg",
DRAWN=Symbol("drawn"),
UNIT=/(\d) (?=(?:s|min|h|%|°C|W|B|[KMGT]iB|[CGT]PUs?)(?!\w))/g;
function h(d7,br={},...aR){const ai=[];
for(const p of aR){if(!Array.isArray(p))p||p===""?ai.push(p):null;
else for(const D of p)if(D||D==="")ai.push(D)}
return{tag:d7,key:br.key??"",props:br,children:ai}}
function draw(Y,aR){if(!fits(Y,aR))return arrange(Y,aR);
let e=Y.firstChild;
for(const p of aR){if(e)update(e,p,Y);
e=e?.nextSibling??null}}
function fits(Y,aR){let e=Y.firstChild;
for(const p of aR){if(!e||!isOf(e,p)||(typeof p!=="string"&&p.key!==keyOf(e)))return false;
e=e.nextSibling}
return!e}
function arrange(Y,aR){const bn=([...Y.childNodes]),
keyed=new Map(bn.filter(e=>keyOf(e)).map(e=>[keyOf(e),e])),
dU=bn.filter(e=>!keyOf(e)),
cP=new Set();
let place=Y.firstChild;
for(const p of aR){const e=matching(p,keyed,dU)??created(p,Y);
cP.add(e);
update(e,p,Y);
if(e===place)place=place.nextSibling;
else Y.insertBefore(e,place)}
for(const e of bn)if(!cP.has(e))e.remove()}
function keyOf(e){return(e)[DRAWN]?.key??""}
function isOf(e,p){return typeof p==="string"?e.nodeType===3:(e)[DRAWN]?.tag===p.tag}
function matching(p,keyed,az){if(typeof p!=="string"&&p.key){const e=keyed.get(p.key);
keyed.delete(p.key);
return e&&isOf(e,p)?e:undefined}
const x=az.findIndex(e=>isOf(e,p));
return x<0?undefined:az.splice(0,x+1)[x]}
function created(p,Y){const w=Y.ownerDocument;
if(typeof p==="string")return w.createTextNode("");
const dF=p.tag==="svg"||Y.namespaceURI===SVG,
Q=dF?w.createElementNS(SVG,p.tag):w.createElement(p.tag);
(Q)[DRAWN]={tag:p.tag,key:p.key,props:{},children:[]};
return Q}
function update(e,p,Y){if(typeof p==="string"){if((e)[DRAWN]?.text===p)return;
(e)[DRAWN]={text:p};
e.nodeValue=unbroken(p,Y);
return}
const Q=(e),
ag=(Q)[DRAWN];
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
function table(bX,N,rows,more={}){const dB=N.map((aY,x)=>head(typeof aY==="string"?{name:aY}:aY,x,more.sort));
return h("div",{class:bX==="Devices"?"scroll whole":"scroll",key:bX,role:"region","aria-label":bX,tabindex:"0","data-sight":more.sight??null},h("table",{"aria-rowcount":more.rows&&more.rows+1},h("caption",{class:"unseen"},bX),h("thead",{},h("tr",{},dB)),h("tbody",{},rows)))}
function head({name:g,sort:bu},x,bN){if(!bu)return h("th",{scope:"col",key:g||`c${x}`},g||h("span",{class:"unseen"},"Actions"));
const bR=bN?.column!==bu?"none":bN.down?"descending":"ascending",
dj={none:"",ascending:" ↑",descending:" ↓"}[bR];
return h("th",{scope:"col",key:g,"aria-sort":bR},h("button",{type:"button",class:"sorts","data-act":"sort","data-column":bu},g,h("span",{"aria-hidden":"true"},dj)))}
function nameOf(g){return h("span",{class:"name cut",title:g},g)}
function button(L,br){return h("button",{type:"button",...br},L)}
const VERBS={cancel:"Cancel",kill:"Kill",retry:"Retry"};
function endButton(am,bT,L,a){const{id:B,name:g,owner:aC}=bT;
const aP={"data-id":B,"data-name":g};
if(a.asked.has(B))return button("asked…",{...aP,"aria-label":`${VERBS[am]} ${g} ${L}`,disabled:true});
if(!aC)return button(VERBS[am],{...aP,"data-act":am,"aria-label":`${VERBS[am]} ${g} ${L}`});
if(a.doubted!==B){return button(`${VERBS[am]}…`,{...aP,"data-act":"doubt","data-owner":aC,"aria-label":`${VERBS[am]} ${g} ${L} of ${aC}`})}
return h("span",{class:"ask nowrap"},button("Keep",{...aP,"data-act":"keep","aria-label":`Keep ${g} of ${aC}`})," ",button(`${VERBS[am]} it`,{...aP,"data-act":am,class:"urgent","aria-label":`${VERBS[am]} ${g} of ${aC} all the same`}))}
function empty(q,bk){return h("p",{class:"quiet empty",key:"empty"},q,bk&&" ",bk&&h("code",{},bk))}
function stateCell(sign,U,ax){const b4=ax!=null&&(U==="running"||U==="alive")?` ink c${ax}`:"";
return h("td",{class:`nowrap state ${U}`},h("span",{class:`sign${b4}`,"aria-hidden":"true"},sign),` ${U}`)}
function whereCell(H,a){const aC=H.startsWith("[")?"":H.replace(/ \[\d+\].*/,""),
ab=aC.length>24?[h("span",{class:"cut",title:aC},aC),H.slice(aC.length)]:[H];
return cell(H&&a.goes(H)?h("button",{type:"button",class:"goes","data-act":"go","data-cell":H,title:"Show the cell"},ab):ab,"nowrap where")}
function cell(a8,v){return h("td",v?{class:v}:{},a8)}
const MOST_CHARACTERS=200_000,
MOST_LINES=2_000;
function withLog(z,s){const af=[{text:s.out.text,err:false},{text:s.err.text,err:true}].filter(dT=>dT.text),
gap=z&&(s.out.left_out||s.err.left_out)?[{text:"… too much was printed to show all of it …\n",err:true}]:[];
let a3=[...(z?.pieces??[]),...gap,...af],
size=a3.reduce((aj,{text:q})=>aj+q.length,0);
while(size>MOST_CHARACTERS&&a3.length>1){size-=a3[0].text.length;
a3=a3.slice(1)}
return{pieces:a3,out:s.out.to,err:s.err.to,over:s.over,pid:s.pid?String(s.pid):"",done:s.over&&Boolean(z?.over)&&!af.length,failure:s.failure,yours:s.yours??"",note:s.note,left:z?.left||Boolean(s.out.left_out||s.err.left_out)}}
function logLines(a3){const aa=[],
aH={false:null,true:null};
for(const{text:q,err:aZ}of a3){const ae=q.split("\n");
ae.forEach((V,x)=>{const a$=aH[String(aZ)]??{text:"",err:aZ};
if(aH[String(aZ)]===null&&(V||x<ae.length-1))aa.push(a$);
a$.text+=V;
aH[String(aZ)]=x<ae.length-1?null:aa.includes(a$)?a$:null})}
return aa.map(({text:q,err:aZ})=>({text:plain(q.replace(/\r+$/,"").split("\r").at(-1)?.replaceAll("\t","    ")),err:aZ}))}
function logRow(a,N){const aF=a.log;
if(!aF)return null;
const m=(a.past.task_log?.data??null);
return h("tr",{key:`log/${aF.id}`,class:"logrow"},h("td",{colspan:N},h("section",{class:"log","aria-label":`Log of ${aF.name}`},logHead(aF,m),...failureOf(m),printed(aF,m))))}
function logHead(aF,m){return h("div",{class:"line",key:"head"},h("strong",{},`Log of ${aF.name}`),m?.pid&&h("span",{class:"quiet"},`all that its process has printed, pid ${m.pid}`),m&&!m.over&&h("span",{class:"chip"},"live"),h("label",{class:"aside quiet"},"Search ",h("input",{type:"search","data-search":"log",value:aF.search,"aria-label":`Search the log of ${aF.name}`})),button("Close",{"data-act":"close-log","aria-label":"Close the log"}))}
function failureOf(m){if(!m?.failure)return[];
const aD=h("pre",{tabindex:"0","aria-label":"The whole traceback"},m.failure);
if(!m.yours||m.yours===m.failure)return[h("div",{key:"failure",class:"failure"},aD)];
return[h("div",{key:"failure",class:"failure"},h("pre",{tabindex:"0","aria-label":"Your code in the traceback"},m.yours),h("details",{open:true},h("summary",{},"The whole traceback"),aD))]}
function printed(aF,m){if(!m)return h("p",{class:"quiet",key:"none"},"Asking the kernel …");
const u=logLines(m.pieces),
b7=aF.search.trim().toLowerCase(),
ay=b7?u.filter(({text:q})=>q.toLowerCase().includes(b7)):u,
dP=m.note||(b7&&u.length?"No line has this text.":m.over?"It has printed nothing.":"It has printed nothing yet."),
cV=[b7&&u.length&&`${ay.length} of ${count(u.length,"line")}`,m.left&&"the beginning is only in %accel_logs",ay.length>MOST_LINES&&`the last ${MOST_LINES} lines`].filter(Boolean);
return h("div",{key:"printed"},cV.length>0&&h("p",{class:"quiet",role:"status"},cV.join(" · ")),ay.length?h("pre",{class:"printed",tabindex:"0","aria-label":"What it has printed"},ay.slice(-MOST_LINES).map(({text:q,err:aZ},x)=>h("span",{key:`l${x}`,class:aZ?"err":null},`${q}\n`))):h("p",{class:"quiet"},dP))}
function followLog(i,a){const A=a.log?.follow&&i.querySelector(".printed");
if(A)A.scrollTop=A.scrollHeight}
const FIND_EVERY_MS=1000,
FOUND_AT_FIRST=200,
MOST_FOUND=1000;
function findKey({filter:G,wide:eh}){return G.state||G.cell||G.text.trim()?JSON.stringify([G,eh]):""}
function foundNow(a){const y=findKey(a);
return y&&a.found?.key===y?a.found:null}
function finder(M,a){let T=0,
C="",
aE;
const bw=()=>{clearTimeout(aE);
aE=undefined;
const y=a.details&&a.tab==="tasks"?findKey(a):"";
if(!y)return;
T=Date.now();
C=y;
M.send({say:"find",id:a.id,key:y,filter:a.filter,limit:a.wide?MOST_FOUND:FOUND_AT_FIRST})};
const dy=()=>{if(findKey(a)!==C)bw();
else aE??=setTimeout(bw,Math.max(0,T+FIND_EVERY_MS-Date.now()))};
return{find:dy,end:()=>clearTimeout(aE)}}
function laneName(f){return`${(f.node_id??"").slice(0,12)}/${f.resource}/${f.id}`}
const KEPT_S=120,
LETTERS="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
MOST_DEVICES=128;
function hasLines(c){const Z=c.devices??[];
return Z.length<=MOST_DEVICES&&Z.some(row=>row.metrics)}
function withReadings(z,s){const R=z?.origin===s.origin&&z?.step===s.step_s?z:null,
ah=s.first+s.steps,
_=Math.max(ah-Math.round(KEPT_S/s.step_s),R?R.first:s.first),
aa=new Map();
s.devices.forEach((du,x)=>{const g=s.prefix+du,
m=R?.lines.get(g),
a$=(V,cs=1)=>Array.from({length:ah-_},(ek,t)=>{const ct=_+t-s.first,
bn=ct<0?m?.[V][_+t-(R?.first??0)]:null;
if(ct<0)return bn==null?null:bn*cs;
const aS=LETTERS.indexOf(s[V][x*s.steps+ct]);
return aS<0?null:aS/(LETTERS.length-1)}),
u={utilisation:a$("utilisation"),memory:a$("memory"),power:a$("power",R?R.watts/s.power_watts:1)};
aa.set(g,u).set(g.slice(g.indexOf("/")),u)});
return{since:s.seq,origin:s.origin,step:s.step_s,first:_,watts:s.power_watts,lines:aa}}
function linesOf(dY,row){return dY?.lines.get(laneName(row))??null}
function rowsQuestion(a,c){const cI=B=>a.past[`rows/${B}`]?.due??0,
[bJ]=(c.runs?.open(a)??[]).sort((O,J)=>cI(O)-cI(J));
return bJ?{ask:"rows",key:`rows/${bJ}`,record:bJ}:null}
function placeOf({ask:bw,key:y}){return bw==="rows"?y:bw}
function withRows(z,s){const rows=new Map(z?.rows);
for(const[y,row]of Object.entries(s.rows))rows.set(y,row);
return{since:s.seq,total:s.total,rows}}
const LAST_MINUTE=60,
WHOLE_RUN=0;
let views=0;
function newState(dr){views+=1;
return{id:`nbaccel-${views}-${Math.random().toString(36).slice(2,8)}`,details:dr,listed:false,tab:"devices",filter:{state:"",cell:"",text:""},sort:{column:"",down:false},held:null,order:[],open:new Set(),device:"",scrolled:{top:0,height:460,row:46,reason:23},sights:new Map(),tiles:undefined,heldSight:"",only:"",wide:false,window:LAST_MINUTE,range:null,shown:{from:0,to:1},lanes:{width:1000,left:110,right:990},room:1000,hover:{bar:"",style:""},rows:new Map(),asked:new Set(),doubted:"",found:null,retries:false,goes:()=>false,said:"",log:null,notices:false,past:{}}}
const LEAST_PAUSE_MS=250,
LATE_MS=10_000,
MINUTES_TOLD=3;
function questionOf(a,c,k){const{engine:ce,pid:bq}=c.runtime;
const a7=`${ce} ${bq??""} ${c.nodes?.[0]?.node_id??""}`;
if(a.only)return rowsQuestion(a,c);
const r=a.details?a.tab:"devices";
if(r==="runs")return rowsQuestion(a,c);
if(r==="devices"&&hasLines(c))return{ask:"readings",key:a7};
if(r==="tasks"&&a.log){const[y,m]=[`${a7} ${a.log.id}`,a.past.task_log],
q=m?.key===y?m.data:null;
return q?.done?null:{ask:"task_log",key:y,task_id:a.log.id,out_since:q?.out??0,err_since:q?.err??0}}
if(r==="accounting")return{ask:"accounting",key:a7};
if(r!=="timeline")return null;
if(a.range)return{ask:"runs",key:`${a7} ${a.range.from} ${a.range.to}`,start:a.range.from,end:a.range.to};
if(a.window===WHOLE_RUN)return{ask:"runs",key:`${a7} all`};
const m=a.past.runs,
dZ=m?.start&&m.key===`${a7} last`&&k-m.start<MINUTES_TOLD*LAST_MINUTE;
return{ask:"runs",key:`${a7} last`,start:dZ?m.start:k-a.window}}
function historian(M,a,k){let T=0,
aE,
C=-LATE_MS;
const dK=()=>{if(Date.now()-C<LATE_MS)return;
C=Date.now();
M.send({say:"past"})};
let bE=true;
const aG=()=>{bE=true;
clearTimeout(aE);
const c=M.snapshot(),
aU=c&&!c.ended?questionOf(a,c,k()):null;
if(!aU)return;
if(!["readings","task_log","rows"].includes(aU.ask)&&!c?.past)return void dK();
const place=placeOf(aU),
m=a.past[place],
R=m?.key===aU.key&&m.start===aU.start,
b9=Math.max(R?m.due:0,T+LEAST_PAUSE_MS)-Date.now();
if(b9>0)return void(aE=setTimeout(aG,b9));
T=Date.now();
const n=R||aU.ask==="runs"?(m?.data??null):null;
a.past[place]={key:aU.key,start:aU.start,due:T+LATE_MS,data:n};
M.send({say:"history",id:a.id,...aU,since:R?(n?.since??0):0})};
const bl=E=>{const bo=a.past[placeOf(E)];
if(bo?.key!==E.key)return;
const s=JSON.parse(E.answer),
told={readings:withReadings,task_log:withLog,rows:withRows}[(E.ask)]??M.snapshot()?.past?.told[E.ask];
if(told)bo.data=told(bo.data,s);
bo.due=Date.now()+1000*s.pause_s;
const dA=E.ask==="task_log"||(E.ask==="rows"&&!s.pause_s);
if(dA&&bE)aG()};
const ah=()=>{bE=false;
clearTimeout(aE)};
return{look:aG,heard:bl,end:ah}}
const GROUPS=8;
function heldWords({heldBy,devicesFree:cG,devicesTaken:bz,ended:al}){if(al)return[];
const a2=heldBy.slice(0,GROUPS).map(({name:g,number:l,colour:ax},t)=>[t>0&&", ",h("span",{key:g},h("span",{class:`swatch c${ax}`,"aria-hidden":"true"}),` ${g}${l>1?` × ${l}`:""}`)]).flat(),
more=heldBy.length>GROUPS&&` and ${heldBy.length-GROUPS} more`,
az=[cG&&`${cG} free`,bz&&`${bz} taken by others`].filter(Boolean).map(H=>` · ${H}`).join("");
return[a2.length?"Held by ":"Nobody holds one",...a2,more,az]}
function taken({state:a}){return a==="taken"&&h("span",{class:"part taken"})}
function shareBar({heldBy,deviceTotal:ap,devicesTaken:bz}){const V=(v,be)=>h("span",{key:v,class:`part ${v}`,style:`width:${Math.round(1000*be/ap)/10}%`});
return h("span",{class:"bar","aria-hidden":"true"},heldBy.map(({colour:ax,share:be})=>V(`c${ax}`,be)),bz>0&&V("taken",bz))}
const PALETTE={hues:[["#1575c3","#207cca","#056ebb"],["#99612a","#a06731","#a76e38"],["#149599","#229da0","#2da4a7"],["#b74977","#be507e","#c65785"],["#978d17","#9e9423","#908606"],["#9082f1","#897be9","#8274e1"],["#6aa173","#639a6d","#5c9366"],["#c27bc6","#bb74bf","#b36db8"]],failure:"#ec1c24",attention:"#c77700",waiting:"#808080",grounds:["#ffffff","#212121"]};
const HUES=PALETTE.hues.length,
SHADES=PALETTE.hues[0].length;
function numberOf(q){let bY=2166136261;
for(let cf=0;cf<q.length;cf++)bY=Math.imul(bY^q.charCodeAt(cf),16777619);
return(bY^(bY>>>15))>>>0}
function colourOf(c,aV,B){const dE=c.hues?.[aV]??numberOf(aV)%HUES;
return dE*SHADES+(B?numberOf(B)%SHADES:0)}
function subjectOf(row){const aD=row.function||row.name;
return(row.kind??"task")==="task"?aD:aD.split(".",1)[0]}
function inkOn(ax){const[dW,dz,J]=[1,3,5].map(t=>parseInt(ax.slice(t,t+2),16)/255).map(V=>(V<=0.03928?V/12.92:((V+0.055)/1.055)**2.4));
return 0.2126*dW+0.7152*dz+0.0722*J>0.179?"#000":"#fff"}
function colourRules(d1){return PALETTE.hues.flat().map((ax,l)=>`${d1} .c${l}{background:${ax};fill:${ax};--c:${ax};--on:${inkOn(ax)}}`).join("\n")}
const STATES=["running","waiting","failed","cancelled","finished"];
function taskCounts(c){const K=Object.fromEntries(STATES.map(a=>[a,0]));
for(const[a,l]of Object.entries(c.counts??{})){const U=stateWord(a);
K[U]=(K[U]??0)+l}
return K}
function waitingViews(c,k){return(c.tasks??[]).filter(row=>stateWord(row.state)==="waiting").sort((O,J)=>(O.submitted_at??0)-(J.submitted_at??0)).map(row=>taskView(row,c,k))}
function taskViews(c,G,k){const q=G.text.trim().toLowerCase(),
rows=(c.tasks??[]).filter(row=>passes(row,c,G,q));
return rows.map(row=>taskView(row,c,k))}
function passes(row,c,G,q){if(G.state&&stateWord(row.state)!==G.state)return false;
if(G.cell&&cellOf(row,c)!==G.cell)return false;
if(!q)return true;
return[row.name,taskName(row.name),row.task_id,row.cell,whyOf(row,c),deviceWords(row.device_ids)].some(D=>(D??"").toLowerCase().includes(q))}
function cellOf(row,c){return row.cell?cellWords(c,{job:row.job,cell:row.cell.split(" ")[0]}):""}
function cellsOf(c){const l=cell=>Number(/\[(\d+)\]$/.exec(cell)?.[1]??0),
b4=cell=>(cell.startsWith("[")?0:1),
dk=new Set((c.tasks??[]).map(row=>cellOf(row,c)).filter(Boolean));
return[...dk].sort((O,J)=>b4(O)-b4(J)||l(O)-l(J))}
function whyOf(row,c){return row.reason==null?(row.why??""):(c.reasons?.[row.reason]??"")}
function withoutSubject(aX,row){const g=plain(row.name).replace(/\.__init__$/,""),
cell=plain(row.cell);
if(!aX.startsWith(g))return aX;
let av=aX.slice(g.length+1);
if(cell&&av.startsWith(`(cell ${cell}`))av=av.slice(av.indexOf(") ")+2);
if(av.startsWith("waits for "))return av.includes(". ")?av.slice(av.indexOf(". ")+2):av;
return av.startsWith("asks ")?av:aX}
function taskView(row,c,k){const a=stateWord(row.state),
bf=a==="waiting"?row.submitted_at:(row.started_at??row.submitted_at),
aI=ENDED.has(row.state);
return{id:row.task_id,short:shortId(row.task_id),name:taskName(row.name),sign:stateSign(a),state:a,devices:deviceWords(row.device_ids),pid:row.pid?String(row.pid):"",cell:cellWords(c,row),owner:ownerOf(c,row),age:bf==null?"":age((row.finished_at??k)-bf),started:row.started_at==null?"":clock(row.started_at,k),took:tookWords(row,a,k),subject:plain(subjectOf(row)),colour:colourOf(c,subjectOf(row),row.actor_id||row.task_id),keys:{submitted:row.submitted_at??0,started:row.started_at??Infinity,took:row.started_at==null?-1:(row.finished_at??k)-row.started_at},peak:row.peak_memory_bytes==null?"":size(row.peak_memory_bytes),why:[row.retry_of&&`retry of #${shortId(row.retry_of)}`,row.choice?`runs as ${plain(row.choice)}`:"",withoutSubject(plain(whyOf(row,c)),row)].filter(Boolean).join(": "),retryable:Boolean(row.retryable),asks:Object.keys(row.demand??{}).length?demandWords(row.demand):"",cancellable:!aI&&row.state!=="ENDED_WITH_IT"}}
function tookWords(row,a,k){if(a==="waiting")return row.submitted_at==null?"":`waits ${age(k-row.submitted_at)}`;
if(row.started_at==null)return"";
const aB=(row.finished_at??k)-row.started_at;
if(row.finished_at!=null)return duration(aB);
const[ak,X]=row.progress??[0,0];
if(!X)return age(aB);
const at=ak>0&&ak<X?`${age((aB*(X-ak))/ak)} left`:"";
return[age(aB),`${Math.round((100*ak)/X)} %`,at].filter(Boolean).join(" · ")}
function actorViews(c,k){return(c.actors??[]).map(row=>actorView(row,c,k))}
function actorView(row,c,k){const a=row.state==="PENDING_CREATION"?"waiting":stateWord(row.state);
return{id:row.actor_id,name:plain(row.class_name)+(row.name?` “${plain(row.name)}”`:""),sign:stateSign(a),state:a,devices:deviceWords(row.device_ids),pid:row.pid?String(row.pid):"",cell:cellWords(c,row),owner:ownerOf(c,row),age:row.since==null?"":age(k-row.since),colour:colourOf(c,row.class_name,row.actor_id),calls:row.pending_calls?String(row.pending_calls):"",why:[row.restarts?`restarted ${row.restarts} ×`:"",plain(row.why)].filter(Boolean).join(" · "),alive:row.state!=="DEAD"}}
const MOST_OF_ONE=8,
ORDER=["running","failed","waiting","cancelled","finished"],
OVERSCAN=12,
KEYS={task:d=>`${d.name}\n${d.short}`,state:d=>place(d.state),devices:d=>d.devices||"~",started:d=>d.keys.started,took:d=>d.keys.took};
function place(a){const t=ORDER.indexOf(a);
return t<0?ORDER.length:t}
function ordered(W,bu,$){const y=KEYS[bu.column],
da=(O,J)=>place(O.state)-place(J.state)||J.keys.submitted-O.keys.submitted,
dn=(O,J)=>{if(!y)return da(O,J);
const[cX,cZ]=[y(O),y(J)],
bR=cX<cZ?-1:cX>cZ?1:0;
return(bu.down?-bR:bR)||da(O,J)};
const bN=[...W].sort(dn);
if(!$)return bN;
const z=new Map($.map((B,x)=>[B,x]));
return bN.sort((O,J)=>(z.get(O.id)??$.length)-(z.get(J.id)??$.length))}
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
const ak=K.get("finished")??0,
az=STATES.filter(a=>a!=="finished"&&K.get(a)).map(a=>`${K.get(a)} ${a}`),
aq={subject:W[0].subject,tasks:W,open:aH,done:ak,failed:K.get("failed")??0,others:az};
return[{group:aq},...(aH?W.map(d=>({task:d,inGroup:true})):[])]}
function alike(waiting){const bB=new Map();
for(const d of waiting){const y=`${d.name}\n${d.why}\n${d.asks}`,
aq=bB.get(y)??{task:d,number:0,ids:[]};
aq.number+=1;
aq.ids.push(d.id);
bB.set(y,aq)}
return[...bB.values()].sort((O,J)=>J.number-O.number)}
function tasksInSight(rows,{top:aW,height:ar,row,reason:aN}){let u=0;
const a9=rows.map(D=>(u+="task"in D&&D.task.why?row+aN:row)),
t=df=>(u>df?a9.findIndex(ah=>ah>df):rows.length),
bf=t(Math.min(aW,u-ar)),
_=Math.max(0,bf-OVERSCAN),
T=Math.min(rows.length,t(aW+ar)+2*OVERSCAN-(bf-_));
return{first:_,last:T,above:a9[_-1]??0,below:u-(a9[T-1]??0)}}
function inSight(l,aJ){const bL=Math.ceil(aJ.height/aJ.row)+2*OVERSCAN,
_=Math.max(0,Math.min(Math.floor(aJ.top/aJ.row)-OVERSCAN,l-bL));
return{first:_,last:Math.min(l,_+bL)}}
const MOST_CHIPS=8,
NAMED_IN_FULL=4;
function drawCard(b,a){return[h("div",{key:"strip",class:"one-line strip",role:"group","aria-label":"Devices"},strip(b)),h("div",{key:"most",class:"one-line most"},mostUrgent(b,a))]}
function strip(b){const{deviceTotal:ap,devices:Z,ended:al}=b;
if(!ap)return h("span",{class:"has quiet",title:[...b.found,"nbaccel.init(num_gpus=2)"].join(" ")},["No accelerator.",...b.found,"This counts two logical ones: "].join(" "),h("code",{},"nbaccel.init(num_gpus=2)"));
if(al)return h("span",{class:"has quiet"},`It had ${ap} × ${b.sameModel||ap===1?Z[0].model:"devices"}.`);
if(ap>MOST_CHIPS)return[shareBar(b),h("span",{class:"has",title:b.heldBy.map(({name:g,number:l})=>`${g} × ${l}`).join(", ")},heldWords(b))];
return Z.map(f=>deviceChip(f,ap))}
function deviceChip(f,X){const{label:L,holders,state:a,reason:aN}=f;
const af=holders.map(({name:g,part:V,cell,owner:aC,age})=>[g,...[V,[cell&&`cell ${cell}`,aC].filter(Boolean).join(" of "),age].filter(Boolean)].join(" · ")),
$=holders.map((j,t)=>[t>0&&", ",h("span",{key:j.key,class:"name"},j.name),h("span",{class:"quiet"},af[t].slice(j.name.length))]).flat();
return h("span",{key:f.key,class:X>NAMED_IN_FULL?"device many":"device","data-device":L,title:[L,...(holders.length?af:[aN||a])].join(", ")},h("span",{class:"label"},X>NAMED_IN_FULL?L.replace(/^\S+ /,""):L),h("span",{class:"bar","aria-hidden":"true"},holders.map(j=>h("span",{class:`part c${j.colour}`,style:`width:${100*j.fraction}%`})),!holders.length&&taken(f)),h("span",{class:"has"},holders.length?$:h("span",{class:"quiet"},aN?`${a}: ${aN}`:a)))}
function mostUrgent(b,a){const{alerts:an,nodes:dO,ended:al}=b;
const P=an.find(({kind:v})=>v==="failed")??an[0];
if(P){const more=an.length>1&&button(`and ${an.length-1} more`,{"data-act":"tab","data-tab":"alerts"});
return[h("span",{class:"has alert",title:P.message},h("strong",{},"⚠ Attention:"),` ${P.message}`),more]}
const[aq]=al?[]:alike(b.waiting);
if(aq)return waits(aq,b.counts.waiting-aq.number);
const c5=b.runs?.brief(a)??[];
if(c5.length)return c5.slice(0,2);
const a1=dO.find(({moves:dM})=>dM);
if(a1)return h("span",{class:"has",title:a1.why},h("span",{class:"sign","aria-hidden":"true"},`${a1.sign} `),nameOf(a1.name),` ${a1.state} `,h("span",{class:"quiet"},a1.why));
if(al)return h("span",{class:"quiet"},b.endedAt);
if(b.taskTotal)return h("span",{class:"quiet"},"Nothing waits, and nothing needs attention.");
return h("span",{class:"has quiet",title:"f.remote()"},"No task yet. A call makes one: ",h("code",{},"f.remote()"))}
function waits({task:d,number:l},az){const aX=d.why||d.asks;
return[h("span",{class:"has",title:aX},h("span",{class:"sign","aria-hidden":"true"},"◌ "),l>1&&`× ${l} `,nameOf(d.name),` waits ${d.age}: `,h("span",{class:"quiet"},aX)),az>0&&button(`and ${az} more`,{"data-act":"tab","data-tab":"waiting"})]}
const HEIGHT=16;
function shape(au,dx=false){const b6=au.map((aS,t)=>(aS==null?null:`${t} ${Math.round(10*(HEIGHT-1-aS*(HEIGHT-2)))/10}`));
let co="",
aQ=-1;
b6.forEach((b5,t)=>{if(b5!=null)co+=(b6[t-1]==null?"M":"L")+b5;
if(b5!=null&&b6[t-1]==null)aQ=t;
if(b5!=null&&b6[t+1]==null&&dx)co+=`L${t} ${HEIGHT}L${aQ} ${HEIGHT}Z`});
return co}
function spark(aa,br={}){const d6=Math.max(2,...aa.map(({levels:au})=>au.length));
return h("svg",{class:"spark",viewBox:`0 0 ${d6-1} ${HEIGHT}`,preserveAspectRatio:"none","aria-hidden":"true",...br},aa.map(({levels:au,kind:v})=>[v==="area"&&h("path",{key:"under",class:"under",d:shape(au,true)}),h("path",{key:v,class:v,d:shape(au)})]).flat())}
function between(au){const m=(au??[]).filter(aS=>aS!=null),
aT=aS=>`${Math.round(100*aS)} %`;
return m.length>1?`between ${aT(Math.min(...m))} and ${aT(Math.max(...m))} in the last two minutes`:""}
const GAP_PX=4;
function drawTiles(b,a){const{devices:Z,devicesBefore:cd,deviceTotal:ap}=b;
const inSight=Z.length<ap?a.tiles??{row:40,columns:20}:null;
const aa=l=>Math.ceil(l/(inSight?.columns??1))*(inSight?.row??0),
cQ=Z.some(f=>f.lines),
list=h("ul",{class:cQ?"tiles lined":"tiles","aria-label":"Devices"},emptyLines("above",aa(cd)),Z.map((f,x)=>knownTile(f,inSight?cd+x+1:0,ap,a)),emptyLines("below",aa(ap)-aa(cd+Z.length)));
return h("div",{key:"tiles"},inSight?h("div",{class:"scroll of-tiles",role:"region",tabindex:"0","aria-label":`${ap} devices`},list):list,h("p",{class:"quiet small",key:"holders"},heldWords(b),cQ&&" · Lines: load (filled), memory and power (dotted) of the last two minutes."),cardOf(Z.find(f=>f.key===a.hover.bar),a))}
function emptyLines(bS,ar){return ar>GAP_PX&&h("li",{key:bS,class:"gap","aria-hidden":"true",style:`height:${ar-GAP_PX}px`})}
function cardOf(f,a){if(!f)return null;
const{node:e,label:L,model:F,holders,utilisation,memory,facts,reason:aN}=f;
const $=holders.map(j=>h("div",{key:j.key},h("span",{class:`swatch c${j.colour}`}),h("strong",{},j.name)," ",[j.part,j.cell&&`cell ${j.cell}`,j.owner,j.age].filter(Boolean).join(" · ")));
return h("div",{class:"hover",key:"hover",style:a.hover.style,"aria-hidden":"true"},h("strong",{},[e,L].filter(Boolean).join(" ")),` ${f.state}`,$,h("div",{class:"quiet small"},[utilisation?.text,memory?.text,facts,between(f.lines?.utilisation),aN].filter(Boolean).join(" · ")||F))}
function knownTile(f,place,X,a){const ao=f.key===a.device,
H=tileWords(f),
a8=[H,ao,place,f.holders.map(j=>`${j.colour}/${j.fraction}`)].join("\n"),
m=a.rows.get(`tile ${f.key}`);
if(m?.content===a8&&m.of===f.lines)return m.shape;
const shape=tile(f,H,ao,place?{"aria-posinset":place,"aria-setsize":X}:{});
a.rows.set(`tile ${f.key}`,{content:a8,shape,of:f.lines});
return shape}
function tile(f,H,ao,cp){const l=f.label.replace(/^\S+ /,""),
ae=f.holders.map(j=>h("span",{class:`part c${j.colour}`,style:`width:${100*j.fraction}%`}));
return h("li",{key:f.key,...cp},h("button",{type:"button",class:f.state==="gone"?"tile gone":"tile","data-act":"tile","data-device":f.key,"data-bar":f.key,"aria-expanded":String(ao),"aria-label":H},h("span",{class:"number"},l),h("span",{class:"load quiet"},f.state==="gone"?"gone":f.utilisation?.text),h("span",{class:"bar"},ae,!ae.length&&taken(f)),f.lines&&spark(linesIn(f.lines))))}
function linesIn({utilisation,memory,power}){return[{levels:utilisation,kind:"area"},{levels:memory,kind:"line"},{levels:power,kind:"dots"}]}
function tileWords(f){const holders=f.holders.map(j=>[j.name,j.part,j.cell&&`cell ${j.cell}`,j.owner].filter(Boolean).join(" ")),
facts=[f.utilisation?.text,f.memory?.text,f.facts,between(f.lines?.utilisation),f.reason].filter(Boolean);
return`${[f.node,f.label].filter(Boolean).join(" ")}, ${f.state}${holders.length?`: ${holders.join("; ")}`:""}${facts.map(dv=>`, ${dv}`).join("")}`}
const MOST_ROWS=8;
function drawDevices(b,a){if(!b.deviceTotal){return[empty(["No accelerator.",...b.found,"This counts two logical ones:"].join(" "),"nbaccel.init(num_gpus=2)")]}
if(b.deviceTotal<=MOST_ROWS)return[models(b),rows(b.devices,b,a)];
return[models(b),drawTiles(b,a),b.chosenDevice&&rows([b.chosenDevice],b,a)]}
function models({sameModel:d0,deviceTotal:ap,devices:Z}){if(!d0)return null;
return h("p",{class:"quiet small models",key:"models"},`${ap} × ${Z[0].model}`)}
function rows(Z,b,a){const b1=Z.some(f=>f.utilisation||f.memory),
bs=Z.some(f=>f.node),
af=b.sameModel,
$=!b.ended&&Z.some(f=>f.holders.length||f.reason),
N=["Device",...(bs?["Node"]:[]),b.ended?"State":"In use",...(b1?["Load, memory, power"]:[]),...($?["Held by"]:[])];
return table("Devices",N,Z.map(f=>row(f,{several:bs,measured:b1,said:af,held:$},b,a)))}
function row(f,{several:bs,measured:b1,said:af,held:$},b,a){return h("tr",{key:f.key,"data-device":f.label},h("th",{scope:"row",title:f.title||null},h("span",{class:"label"},f.label),!af&&h("span",{class:"quiet small model"},f.model)),bs&&h("td",{class:"quiet"},f.node),h("td",{class:"use"},!b.ended&&useBar(f),h("span",{class:"nowrap"},h("span",{class:"sign","aria-hidden":"true"},f.sign),` ${f.state}`)),b1&&h("td",{class:"load",title:f.facts},meter("utilisation",f,f.utilisation),meter("memory",f,f.memory),f.power&&meter("power",f,f.power)),$&&h("td",{class:"holders"},holders(f,b,a)))}
function useBar(f){const ae=f.holders.map(j=>h("span",{key:j.key,class:`part c${j.colour}`,style:`width:${100*j.fraction}%`}));
return h("div",{class:"bar",role:"img","aria-label":`${f.label}: ${f.use}`,title:f.use},ae,!ae.length&&taken(f))}
function meter(bh,f,I){if(!I)return h("div",{class:"measure quiet small"},`${bh} unknown`);
const aT=Math.min(100,Math.max(0,Math.round(I.percent))),
g=`${f.label} ${bh}`,
au=f.lines?.[bh],
af={title:[bh,between(au)].filter(Boolean).join(": ")};
const ag=au?spark([{levels:au,kind:bh==="utilisation"?"area":"line"}]):h("span",{class:"part",style:`width:${aT}%`}),
cs=bh==="power"?{role:"img","aria-label":`${g} ${I.text}`}:{role:"meter","aria-label":g,"aria-valuemin":"0","aria-valuemax":"100","aria-valuenow":aT,"aria-valuetext":I.text};
return h("div",{class:"measure",...af},bh==="power"&&!au?null:h("div",{class:au?"trend":"bar",...cs},ag),h("span",{class:"small"},I.text))}
function holders(f,b,a){const list=f.holders.map(j=>holderLine(j,f,b,a));
return[list.length>0&&h("ul",{},list),f.reason&&h("span",{class:"quiet"},f.reason)]}
function holderLine(j,f,b,a){const bS=[j.cell&&`cell ${j.cell}`,j.owner].filter(Boolean).join(" of "),
facts=[j.part,bS,j.age].filter(Boolean).join(" · ");
return h("li",{key:j.key,title:j.pid},h("span",{class:`swatch c${j.colour}`,"aria-hidden":"true"}),h("span",{class:"who"},nameOf(j.name),h("span",{class:"quiet facts"},facts)),(j.taskId||j.actorId)&&stop(j,f,a))}
function stop(j,f,a){const am=j.taskId?"cancel":"kill";
return endButton(am,{id:j.taskId||j.actorId,name:j.name,owner:j.owner},`on ${f.label}`,a)}
function cancelMany(L,B,G,cl,a){const bT=cl?` ${cl}`:"",
aP={key:B,"data-id":B,"data-name":L+bT,"data-function":cl,"data-state":G.state,"data-cell":G.cell,"data-text":G.text};
if(a.doubted!==B)return button(`${L}…`,{...aP,"data-act":"sure","aria-label":`${L}${bT}…`});
return h("span",{class:"ask nowrap",key:B},button("Keep",{...aP,key:"keep","data-act":"keep"})," ",button(L,{...aP,key:"do","data-act":"cancel-many",class:"urgent","aria-label":L+bT}))}
function drawWaiting(b,a){if(!b.counts.waiting)return[empty("Nothing waits. A task that finds no free device waits here, with the reason:","train.options(num_gpus=1).remote()")];
const bB=alike(b.waiting),
rows=bB.map(({task:d,number:l,ids:aL})=>h("tr",{key:d.id,"data-task":d.id},nameCell(d,l),cell(d.asks,"nowrap"),whereCell(d.cell,a),cell(d.age,"short"),cell(told(b.alerts,aL)?"never: see Alerts":d.why||h("span",{class:"quiet"},"asked for, not looked at yet"),"why"),cell(l>1?showAll(d,l):cancel(d,b,a),"acts"))),
more=b.counts.waiting-b.waiting.length;
return[rows.length>0&&table("Waiting tasks",["Task","Asks for","Cell","For","Why it waits",""],rows),more>0&&moreLine(`and ${more} more that wait`,a),b.counts.waiting>1&&!b.ended&&h("p",{key:"all"},cancelMany("Cancel all that wait","waiting",{state:"waiting",cell:"",text:""},"",a))]}
function told(an,aL){return an.some(P=>aL.includes(P.never))}
function showAll(d,l){return button(`Show all ${l}`,{"data-act":"count","data-state":"waiting","data-text":d.name,"aria-label":`Show all ${l} ${d.name} that wait`})}
function nameCell(d,l){return h("th",{scope:"row"},nameOf(d.name),h("span",{class:"quiet small below"},l>1?`× ${l}`:`#${d.short}`))}
function cancel(d,b,a){if(!d.cancellable||b.ended)return null;
return endButton("cancel",d,`#${d.short}`,a)}
function moreLine(q,a){return h("p",{class:"more",key:"unsent"},h("span",{class:"quiet"},`${q} `),!a.wide&&button("Show more",{"data-act":"ask-more"}))}
function drawActors(b,a){if(!b.actors.length)return[empty("No actor. A remote class that is called makes one:","Counter.remote()")];
const rows=b.actors.map(ac=>h("tr",{key:ac.id,"data-actor":ac.id},h("th",{scope:"row"},nameOf(ac.name),h("span",{class:"quiet small below"},[`#${ac.id.slice(0,8)}`,ac.pid&&`pid ${ac.pid}`].filter(Boolean).join(" · "))),stateCell(ac.sign,ac.state,ac.colour),cell(ac.devices,"nowrap"),whereCell(ac.cell,a),cell(ac.age,"short"),h("td",{"data-head":"calls waiting"},ac.calls),cell(ac.why,"why"),cell(ac.alive&&!b.ended&&endButton("kill",ac,`#${ac.id.slice(0,8)}`,a),"acts")));
return[table("Actors",["Actor","State","Devices","Cell","Age","Calls waiting","Why",""],rows),b.actorsMore>0&&h("p",{class:"quiet more",key:"more"},`and ${b.actorsMore} more actors`)]}
function drawAlerts(b){if(!b.alerts.length)return[empty("No alert. Failures, leaks, lost devices and requests that can never be met are told here, such as:","f.options(num_gpus=1000).remote()")];
return[h("ul",{class:"alerts",key:"alerts"},b.alerts.map(P=>h("li",{key:P.key},h("strong",{},h("span",{"aria-hidden":"true"},"⚠ "),P.title),` ${P.message}`,h("span",{class:"quiet"}," · ",h("span",{class:"nowrap"},`${P.age} ago`)))))]}
function drawNodes(b){const rows=b.nodes.map(e=>h("tr",{key:e.key},h("th",{scope:"row"},nameOf(e.name)),stateCell(e.sign,e.state),cell(e.role),cell(e.resources),cell(e.why,"why")));
return[table("Nodes",["Node","State","Role","Resources","Why"],rows)]}
const WAITING_SHOWN=3,
ALERTS_SHOWN=2;
function drawListed(b,a){const an=[...b.alerts].sort((O,J)=>Number(J.kind==="failed")-Number(O.kind==="failed")).slice(0,ALERTS_SHOWN),
a1=b.nodes.filter(e=>e.moves).map(e=>h("li",{key:e.key},sign(e.sign),nameOf(e.name),` ${e.state} `,h("span",{class:"quiet"},e.why))),
af=an.map(P=>h("li",{key:P.key},h("strong",{},"⚠ Attention:"),` ${P.message}`));
return[...drawDevices(b,a),...(b.runs?.brief(a)??[]),list("lines","Nodes that come and go",a1),list("lines","Waiting tasks",b.ended?[]:waiting(b,an)),list("alerts","Alerts",[...af,...more(b.alerts.length-af.length,"alerts")])]}
function waiting(b,an){const u=alike(b.waiting),
c9=u.filter(({ids:aL})=>!told(an,aL)),
ab=c9.slice(0,WAITING_SHOWN),
aa=ab.map(({task:d,number:l})=>h("li",{key:d.id},sign("◌"),l>1&&`× ${l} `,nameOf(d.name),` waits ${d.age}: `,h("span",{class:"quiet"},d.why||d.asks))),
m=u.filter(aq=>!c9.includes(aq)||ab.includes(aq));
return[...aa,...more(b.counts.waiting-m.reduce((aj,{number:l})=>aj+l,0),"waiting")]}
function sign(dL){return h("span",{class:"sign","aria-hidden":"true"},`${dL} `)}
function more(l,S){return l>0?[h("li",{key:"more"},button(`and ${l} more`,{"data-act":"tab","data-tab":S}))]:[]}
function list(v,L,aa){return aa.length>0&&h("ul",{class:v,key:L,"aria-label":L},aa)}
function drawTasks(b,a){a.order=b.tasks.map(d=>d.id);
const rows=a.sort.column?b.tasks.map(d=>({task:d,inGroup:false})):grouped(b.tasks,a.open),
dD=b.tasksFound-b.tasks.length,
ed=b.foundInAll?dD:b.taskTotal-b.taskRows;
return[filters(b,a),rows.length?tableOf(rows,b,a):nothingFound(b),ed>0&&moreLine(`${b.tasks.length} of ${b.foundInAll?b.tasksFound:b.taskTotal} tasks are here`,a)]}
function tableOf(rows,b,a){const bp=b.tasks.some(d=>d.peak),
N=[{name:"Task",sort:"task"},{name:"State",sort:"state"},{name:"Devices",sort:"devices"},"Cell",{name:"Started",sort:"started"},{name:"Took",sort:"took"},...(bp?["Peak"]:[]),""],
{first:_,last:T,above:dh,below:bx}=tasksInSight(rows,a.scrolled);
const ag=rows.slice(_,T).flatMap(row=>{if("group"in row)return[groupRow(row.group,N.length,b,a)];
const c0=knownRow(row.task,row.inGroup,bp,N.length,b,a);
return a.log?.id===row.task.id?[...c0,logRow(a,N.length)]:c0});
return table("Tasks",N,[gap("above",dh),...ag,gap("below",bx)].filter(Boolean),{rows:rows.length,sort:a.sort})}
function gap(bS,ar){return ar>0&&h("tr",{key:bS,class:"gap","aria-hidden":"true",style:`height:${Math.round(ar)}px`})}
function nothingFound(b){if(!b.taskTotal)return empty("No task yet. A remote function that is called makes one:","f.remote()");
return empty(b.foundInAll?"No task passes the filter.":"No task of these rows passes the filter.")}
function groupRow(aq,N,b,a){const{subject:aV,tasks:W,open:aH,done:ak,failed:dw,others:az}=aq;
const cn=b.taskTotal>b.taskRows&&!b.foundInAll,
V=(v,l)=>l>0&&h("span",{key:v,class:`part ${v}`,style:`width:${(100*l)/W.length}%`}),
H=[...(cn?[]:[`${ak} of ${W.length}`]),...az,...(cn?["others are not here"]:[])];
return h("tr",{key:`group/${aV}`,class:"group","data-function":aV},h("th",{scope:"row",colspan:N},h("button",{type:"button",class:"opens","data-act":"group","data-function":aV,"aria-expanded":String(aH)},h("span",{"aria-hidden":"true"},aH?"▾ ":"▸ "),nameOf(aV)),!cn&&h("span",{class:"bar","aria-hidden":"true"},V(`c${W[0].colour}`,ak),V("failed",dw)),h("span",{class:"quiet"},H.map((D,t)=>[t>0&&" · ",D.endsWith(" failed")?h("span",{key:D,class:"state failed"},D):D]).flat()),!b.ended&&W.some(d=>d.cancellable)&&cancelMany("Cancel all",`group/${aV}`,a.filter,aV,a)))}
function knownRow(d,bZ,bp,N,b,a){const a8=[...Object.values(d),bZ,N,b.ended,a.asked.has(d.id),a.doubted===d.id,a.log?.id===d.id].join("\n"),
m=a.rows.get(d.id);
if(m?.content===a8)return m.shape;
const row=taskRow(d,bZ,bp,b,a),
shape=d.why?[row,reasonRow(d,N)]:[row];
a.rows.set(d.id,{content:a8,shape});
return shape}
function reasonRow(d,N){return h("tr",{key:`why/${d.id}`,class:"reason"},h("td",{colspan:N},h("span",{class:"quiet",title:d.why},d.why)))}
function taskRow(d,bZ,bp,b,a){const bx=[`#${d.short}`,d.pid&&`pid ${d.pid}`].filter(Boolean).join(" · ");
return h("tr",{key:d.id,"data-task":d.id,class:bZ?"inner":null},h("th",{scope:"row"},nameOf(d.name),h("span",{class:"quiet small below"},bx)),stateCell(d.sign,d.state,d.colour),cell(d.devices||d.asks,d.devices?"nowrap":"quiet nowrap"),whereCell(d.cell,a),cell(d.started,"nowrap"),tookCell(d.took),bp&&h("td",{class:"nowrap","data-head":"peak"},d.peak),cell([cancel(d,b,a),d.retryable&&a.retries&&!b.ended&&endButton("retry",d,`#${d.short}`,a),logs(d,b,a)],"acts"))}
function tookCell(ea){const[bO,...cK]=ea.split(" · ");
return cell([bO,cK.length>0&&[" ",h("span",{class:"quiet small below"},cK.join(" · "))]].flat(),"short")}
function logs(d,b,a){if(d.state==="waiting"||b.ended)return null;
return button("Log",{"data-act":"logs","data-id":d.id,"data-name":d.name,"aria-expanded":String(a.log?.id===d.id),"aria-label":`Log of ${d.name} #${d.short}`})}
function filters(b,a){const{filter:G}=a;
const b3=(I,L,ao)=>h("option",{key:I||"all",value:I,selected:I===ao},L);
return h("div",{class:"filters",role:"group","aria-label":"Filter tasks",key:"filters"},h("label",{},"State ",h("select",{"data-filter":"state",value:G.state},b3("","all",G.state),STATES.map(U=>b3(U,`${U} (${b.counts[U]??0})`,G.state)))),h("label",{},"Cell ",h("select",{"data-filter":"cell",value:G.cell},b3("","all",G.cell),b.cells.map(g=>b3(g,g,G.cell)))),h("label",{},"Text ",h("input",{type:"search","data-filter":"text",value:G.text,placeholder:"name, id, reason"})),(G.state||G.cell||G.text)&&!b.ended&&b.tasks.some(d=>d.cancellable)&&cancelMany("Cancel all of these","these",G,"",a),!b.ended&&button("Notify me",{"data-act":"notices",class:"aside","aria-pressed":String(a.notices),title:"A notice of the browser when a task of more than a minute ends or fails"}),a.sort.column&&button("In the usual order",{"data-act":"sort","data-column":""}))}
const VIEWS={devices:drawDevices,waiting:drawWaiting,tasks:drawTasks,actors:drawActors,timeline:(b,a)=>b.pastViews?.drawTimeline(b,a)??loading(b),accounting:b=>(b.accounts?b.pastViews?.drawAccounts(b):null)??loading(b),alerts:drawAlerts,nodes:drawNodes,runs:(b,a)=>b.runs?.draw(a)??[]};
function drawFrame(b,a){const by=a.details?[tabs(b,a),panel(b,a)]:a.listed?drawListed(b,a):drawCard(b,a);
return[header(b,a),...by,h("p",{class:"said",key:"said",role:"status","aria-live":"polite"},a.said)]}
function drawOnly(b,a){const ab=b.runs?.only(a).flat()??[];
return[...(ab.length?ab:drawEmpty("Waiting for news of it …")),h("p",{class:"said",key:"said",role:"status","aria-live":"polite"},a.said)]}
function drawEmpty(H){return[h("p",{class:"quiet",key:"none"},H)]}
function loading(b){return[empty(b.ended?"This view was not opened before the end.":"Asking the kernel …")]}
function header(b,a){return h("header",{key:"header"},h("div",{class:"line top"},firstLine(b),b.ended&&h("span",{class:"chip"},b.ended),b.alerts.length>0&&h("button",{type:"button",class:"chip urgent","data-act":"tab","data-tab":"alerts"},h("span",{"aria-hidden":"true"},"⚠ "),count(b.alerts.length,"alert")),h("button",{type:"button","data-act":"details","aria-expanded":String(a.details),class:"aside"},"Details",h("span",{"aria-hidden":"true"},a.details?" ▴":" ▾"))),h("div",{class:"one-line quiet",title:b.title.join(" · ")},h("span",{class:"has"},secondLine(b,a).join(" · "))))}
function secondLine(b,a){if(!b.resources.length)return b.title;
return a.details||a.listed?b.resources:[...b.resources,...b.unrealDevices]}
function firstLine(b){const K=Object.entries(b.counts).filter(([,l])=>l),
ae=[...b.busy.map(H=>h("strong",{key:H},H)),...K.map(([U,l])=>button(`${l} ${U}`,{key:U,class:`count ${U}`,"data-act":"count","data-state":U,title:`Show the ${U} tasks`}))],
af=ae.flatMap((V,x)=>(x?[h("span",{key:`dot${x}`,class:"quiet dot"}," · "),V]:[V]));
return h("span",{class:"first",title:b.title.join(" · ")},af,!K.length&&[af.length>0&&h("span",{class:"quiet dot"}," · "),h("span",{class:"quiet"},"no task yet")])}
function tabs(b,a){return h("div",{class:"tabs",role:"tablist","aria-label":"Views",key:"tabs"},b.tabs.map(S=>{const ao=S.id===a.tab;
return h("button",{type:"button",key:S.id,role:"tab",id:`${a.id}-${S.id}`,"aria-selected":String(ao),"aria-controls":`${a.id}-panel`,tabindex:ao?"0":"-1","data-act":"tab","data-tab":S.id},S.urgent&&h("span",{"aria-hidden":"true"},"⚠ "),S.label,S.badge>0&&h("span",{class:S.failed?"badge failed":"badge",title:S.failed?"failed":null},String(S.badge)))}))}
function panel(b,a){const r=VIEWS[a.tab]??drawDevices;
return h("div",{role:"tabpanel",id:`${a.id}-panel`,"aria-labelledby":`${a.id}-${a.tab}`,tabindex:"-1",key:`panel-${a.tab}`,class:"panel"},...r(b,a).flat())}
const LONG_ID=20;
function deviceLabels(rows){const v=row=>`${row.node_id??""}/${row.resource}`,
taken=new Set(rows.filter(row=>!row.parent).map(row=>`${v(row)}/${row.id}`)),
cC=new Map(),
bD=new Map();
for(const row of rows){if(!row.parent){bD.set(row,`${plain(row.resource)} ${short(row.id)}`);
continue}
const y=`${v(row)}/${row.parent}`,
cc=cC.get(y)??{number:firstFree(v(row),taken),instances:0};
cC.set(y,cc);
const dV=row.profile?` (${plain(row.profile)})`:"";
bD.set(row,`${plain(row.resource)} ${cc.number} · MIG ${cc.instances++}${dV}`)}
return bD}
function firstFree(v,taken){let l=0;
while(taken.has(`${v}/${l}`))l+=1;
taken.add(`${v}/${l}`);
return l}
function short(B){return plain(B).length>LONG_ID?`${plain(B).slice(0,12)}…`:plain(B)}
function unrealDevices(rows){return["logical","simulated"].flatMap(v=>{const l=rows.filter(row=>row.kind===v).length;
return l?[count(l,`${v} device`)]:[]})}
function modelWords(row){const[g,v]=[plain(row.name||row.type||row.family),row.kind??"real"];
return[g.startsWith(`${v} `)?g.slice(v.length+1):g,!row.parent&&plain(row.profile),v!=="real"&&`(${v})`].filter(Boolean).join(" ")}
function goneNodes(c){return new Set((c.nodes??[]).filter(e=>e.alive===false).map(e=>e.node_id))}
function whereItIs(row,bb){return bb.has(row.node_id??"")?{...row,holders:[],gone:true,free_reason:"its node has gone"}:row}
const MOST_TILES=128,
LINES_BEYOND=1;
function devicesOf(c,k,C){const bb=goneNodes(c),
u=(c.devices??[]).map(row=>whereItIs(row,bb)),
rows=u.filter(row=>row.offered!==false),
bs=new Set(rows.map(row=>row.node_id)).size>1,
a2=new Map((c.nodes??[]).map(e=>[e.node_id,plain(e.name)])),
r=row=>({...deviceView(row,bD.get(row)??"",bs?(a2.get(row.node_id??"")??row.node_id?.slice(0,8)??""):"",c,k),lines:row.metrics?linesOf(C?.past?.readings?.data,row):null}),
{first:_,last:T}=tilesInSight(rows.length,C?.tiles);
const ag=rows.slice(_,T),
ao=C?.device?rows.find(row=>deviceKey(row)===C.device):null,
bD=deviceLabels(rows.some(row=>row.parent)?u:ao?[...ag,ao]:ag);
return{devices:C?ag.map(r):[],devicesBefore:_,deviceTotal:rows.length,unrealDevices:unrealDevices(rows),sameModel:rows.length>1&&new Set(rows.map(modelOf)).size===1,chosenDevice:ao?r(ao):null,heldBy:heldBy(rows,c),devicesFree:rows.filter(row=>!row.holders?.length&&!row.free_reason).length,devicesTaken:rows.filter(row=>!row.holders?.length&&row.free_reason&&!row.gone).length}}
function tilesInSight(X,d4={top:0,height:460,row:40,columns:20}){if(X<=MOST_TILES)return{first:0,last:X};
const{top:aW,height:ar,row,columns:N}=d4;
const T=Math.min(X,N*(Math.ceil((aW+ar)/row)+LINES_BEYOND));
return{first:Math.max(0,Math.min(Math.floor(aW/row)-LINES_BEYOND,Math.floor(X/N)))*N,last:T}}
function heldBy(rows,c){const ck=new Map();
for(const row of rows){for(const j of row.holders??[]){const m=ck.get(j.name)??{number:0,share:0,first:j};
m.number+=1;
m.share+=Math.min(1,j.amount??1);
ck.set(j.name,m)}}
const u=[...ck].sort((O,J)=>J[1].number-O[1].number);
return u.map(([g,{number:l,share:be,first:_}])=>({name:plain(g),number:l,share:be,colour:colourOf(c,_.function||g)}))}
function deviceKey(row){return`${row.node_id??""}/${row.resource}/${row.id}`}
function modelOf(row){return`${row.name||row.type||row.family}·${row.parent?"":(row.profile??"")}·${row.kind??"real"}`}
function deviceView(row,L,e,c,k){const[sign,a]=deviceState(row),
holders=holderViews(row.holders??[],c,k);
return{key:deviceKey(row),label:L,title:row.parent?plain(row.id):"",node:e,model:modelWords(row),sign,state:a,use:useWords(holders),utilisation:utilisation(row),memory:memory(row),power:power(row),facts:facts(row),reason:plain(row.free_reason),holders}}
function deviceState(row){const $=row.holders?.length;
if(row.over)return["–","given back"];
if(row.gone)return["✕","gone"];
if(row.free_reason&&!$)return["◼","taken"];
if(!$)return["○","free"];
return(row.free??1)>0?["◐","shared"]:["●","held"]}
function holderViews(holders,c,k){const aL=holders.map(j=>j.task_id??j.actor_id??j.name);
return holders.map((j,x)=>({key:aL[x],name:plain(j.name),part:(j.amount??1)===1?"":amount(j.amount??1),cell:plain(j.cell),owner:ownerOf(c,j),age:j.since?age(k-j.since):"",pid:j.pid?`pid ${j.pid}`:"",colour:colourOf(c,j.function||j.name,j.actor_id??aL[x]),fraction:Math.min(1,Math.max(0,j.amount??1)),taskId:j.task_id??"",actorId:j.task_id?"":(j.actor_id??"")}))}
function useWords(holders){if(!holders.length)return"nobody holds it";
return holders.map(j=>`${j.name} ${j.part||"1"}`).join(", ")}
function utilisation(row){const aT=row.metrics?.utilisation_percent;
return aT==null?null:{percent:aT,text:`${Math.round(aT)} %`}}
function memory(row){const cy=row.metrics?.memory_used_bytes,
X=row.metrics?.memory_total_bytes??row.memory_bytes;
if(cy==null||!X)return null;
return{percent:(100*cy)/X,text:`${size(cy)} of ${size(X)}`}}
function power(row){const dc=row.metrics?.power_watts;
return dc==null?null:{percent:0,text:`${Math.round(dc)} W`}}
function facts(row){const ae=[];
if(row.metrics?.temperature_celsius!=null)ae.push(`${Math.round(row.metrics.temperature_celsius)} °C`);
if(row.metrics?.power_watts!=null)ae.push(`${Math.round(row.metrics.power_watts)} W`);
return ae.join(" · ")}
function afterEnd(c){const{shared:bt}=c.runtime;
const cg=a=>(ENDED.has(a)?a:"ENDED_WITH_IT"),
W=(c.tasks??[]).map(row=>({...row,state:cg(row.state),reason:ENDED.has(row.state)?row.reason:null})),
K={};
for(const[a,l]of Object.entries(c.counts??{}))K[cg(a)]=(K[cg(a)]??0)+l;
if(bt)delete K.ENDED_WITH_IT;
return{...c,devices:(c.devices??[]).map(row=>({...row,holders:[],free_reason:"",metrics:null,over:true})),tasks:bt?W.filter(row=>ENDED.has(row.state)):W,counts:K,actors:(c.actors??[]).map(row=>({...row,state:"DEAD",pending_calls:0})),actor_counts:{}}}
const ALERTS={infeasible:"Can never start",leak:"Memory leak"};
const HIDDEN_RESOURCES=/^(node:|accelerator_type:|bundle_)|^(memory|object_store_memory)$|_group_/,
BY_STATE={column:"",down:false};
const NO_FILTER={state:"",cell:"",text:""};
function sceneOf(ai,C,k){const al=ai.lost?"the kernel has gone":!ai.ended?"":ai.runtime.shared?"left":"shut down",
c=al?afterEnd(ai):ai,
K=taskCounts(c),
S=C.tab,
bd=c.runs?.(k,al!=="",c),
W=S==="tasks"?tasksOf(c,C,k):[];
return{title:titleOf(c),ended:al,endedAt:al&&`${ai.lost?"This was known":ai.runtime.shared?"Left":"Shut down"} at ${clock(ai.time??k,k)}.`,counts:K,busy:al?[]:busyOf(c),resources:al?resourcesOf(c,true):besideOf(c),tabs:tabsOf(c,K,bd),...devicesOf(c,k,S==="devices"?C:null),found:(c.found??[]).map(plain),waiting:waitingViews(c,k),tasks:W,tasksFound:C.found?.total??W.length,foundInAll:Boolean(C.found),taskRows:(c.tasks??[]).length,taskTotal:Object.values(K).reduce((aj,l)=>aj+l,0),cells:S==="tasks"?cellsOf(c):[],actors:S==="actors"?actorViews(c,k):[],actorsMore:actorsMore(c),runs:bd,pastViews:c.past,timeline:S==="timeline"&&c.past?c.past.timelineOf(c,C.window,k,C.range,C.past?.runs?.data):null,accounts:S==="accounting"&&c.past?c.past.accountsView(C.past?.accounting?.data,c,k):null,alerts:alertsOf(c,k),nodes:nodesOf(c,k)}}
function tasksOf(c,C,k){const ay=C.found,
rows=ay?{...c,tasks:ay.tasks,reasons:ay.reasons}:c;
return ordered(taskViews(rows,ay?NO_FILTER:C.filter,k),C.sort??BY_STATE,C.held??null)}
function titleOf(c){const{engine:ce,version:ef,pid:bq,shared:bt}=c.runtime;
const cA=(c.nodes??[]).filter(e=>e.alive!==false).length;
return["nbaccel "+plain(ef),`${plain(ce)} engine`,cA>1?count(cA,"node"):"",bq?`head pid ${bq}`:"",bt?"shared by several notebooks":""].filter(Boolean)}
function busyOf(c){const bc=new Map(),
bb=goneNodes(c);
for(const row of c.devices??[]){if(row.offered===false||bb.has(row.node_id??""))continue;
const v=bc.get(row.resource)??{held:0,all:0};
v.all+=1;
if(row.holders?.length||row.free_reason)v.held+=1;
bc.set(row.resource,v)}
if(bc.size)return[...bc].map(([g,{held:$,all:u}])=>`${$} of ${count(u,plain(g))} busy`);
const aj=of=>(c.nodes??[]).reduce((u,e)=>u+(e.alive===false?0:(e[of]?.CPU??0)),0);
return aj("totals")?[`${amount(aj("totals")-aj("available"))} of ${amount(aj("totals"))} CPUs busy`]:[]}
function besideOf(c){const rows=(c.devices??[]).filter(row=>row.offered!==false),
bc=new Set(rows.length?rows.map(row=>row.resource):["CPU"]),
az=[...sumsOf(c)].filter(([g])=>!bc.has(g)).map(([g,[bA,u]])=>`${amount(u-bA)} of ${count(+amount(u),plain(g))} busy`),
bb=goneNodes(c),
bt=[...bc].map(v=>{const at=rows.reduce((aj,row)=>aj+(row.resource===v&&row.holders?.length&&!bb.has(row.node_id??"")?(row.free??1):0),0);
return at>0?`${amount(at)} ${plain(v)} free on shared ones`:""});
return[...az,...bt.filter(Boolean)]}
function resourcesOf(c,al){return[...sumsOf(c)].map(([g,[bA,u]])=>`${plain(g)} ${al?amount(u):`${amount(bA)} of ${amount(u)} free`}`)}
function sumsOf(c){const cu=new Map();
for(const e of c.nodes??[]){for(const[g,X]of e.alive===false?[]:Object.entries(e.totals??{})){if(HIDDEN_RESOURCES.test(g))continue;
const[bA,u]=cu.get(g)??[0,0];
cu.set(g,[bA+(e.available?.[g]??0),u+X])}}
return cu}
function tabsOf(c,K,bd){const an=(c.alerts??[]).length,
di=(c.actors??[]).filter(row=>row.state!=="DEAD").length+actorsMore(c),
tabs=[{id:"devices",label:"Devices",badge:0,urgent:false},{id:"waiting",label:"Waiting",badge:K.waiting,urgent:false},{id:"tasks",label:"Tasks",badge:K.failed,urgent:false,failed:true},{id:"actors",label:"Actors",badge:di,urgent:false},{id:"timeline",label:"Timeline",badge:0,urgent:false},{id:"accounting",label:"Accounting",badge:0,urgent:false},{id:"alerts",label:"Alerts",badge:an,urgent:an>0}];
if(bd)tabs.push({id:"runs",label:"Runs",badge:bd.active,urgent:false});
if((c.nodes??[]).length>1||c.arrivals?.length)tabs.push({id:"nodes",label:"Nodes",badge:0,urgent:false});
return tabs}
function actorsMore(c){const ab=(c.actors??[]).filter(row=>row.state!=="DEAD").length,
u=Object.entries(c.actor_counts??{}).filter(([a])=>a!=="DEAD");
return Math.max(0,u.reduce((aj,[,l])=>aj+l,0)-ab)}
function alertsOf(c,k){return(c.alerts??[]).map((P,x)=>({key:`${P.since}/${x}`,kind:P.kind,title:ALERTS[P.kind]??plain(P.kind[0].toUpperCase()+P.kind.slice(1)),message:plain(P.message),age:age(k-P.since),never:P.kind==="infeasible"&&P.task_id})).reverse()}
function nodesOf(c,k){const dC=(c.nodes??[]).map(e=>({key:e.node_id,name:plain(e.name),sign:e.alive===false?"✕":"●",state:e.alive===false?"gone":"alive",role:e.is_head?"head":"",resources:resourcesOf({...c,nodes:[e]},Boolean(c.ended)).join(" · "),why:plain(e.why)||whyOfNode(e,k),moves:(e.leaves_at??0)>k})),
dm=(c.arrivals??[]).map(D=>({key:D.id,name:plain(D.node_type),sign:"◌",state:"arriving",role:"",resources:"",moves:true,why:`for ${duration(k-(D.since??k))}${D.usually_s?` (usually ${duration(D.usually_s)})`:""}${["","arriving"].includes(D.state??"")?"":`: ${plain(D.state)}`}`}));
return[...dC,...dm]}
function whyOfNode(e,k){if(e.kept_by)return`stays: ${plain(e.kept_by)}`;
if(!e.leaves_at||!e.idle_since)return"";
const at=e.leaves_at-k;
return`idle for ${duration(k-e.idle_since)}, ${at>0?`leaves in ${duration(at)}`:"kept for a request or its type's min"}`}
const STYLE=`
&{
--ink:var(--jp-ui-font-color1,var(--vscode-foreground,CanvasText));
--quiet:var(--jp-ui-font-color2,var(--vscode-descriptionForeground,color-mix(in srgb,CanvasText 72%,Canvas)));
--ground:var(--jp-layout-color1,var(--vscode-editor-background,Canvas));
--raised:var(--jp-layout-color2,var(--vscode-editorWidget-background,color-mix(in srgb,CanvasText 7%,Canvas)));
--line:var(--jp-border-color2,var(--vscode-panel-border,color-mix(in srgb,CanvasText 22%,Canvas)));
--edge:color-mix(in srgb,var(--ink) 55%,transparent);
--focus:var(--jp-brand-color1,var(--vscode-focusBorder,CanvasText));
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
& p{margin:6px 0;overflow-wrap:anywhere}
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
& tr.inner th{padding-left:18px}& tr.group th{padding-right:3px}& .group th>:last-child:not(.quiet){float:right}
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
& td.number,& td.share{white-space:nowrap}
& .accounts table{table-layout:fixed}& .accounts th:first-child{width:30%}& .accounts th:last-child{width:28%}
& td.share .bar{display:inline-flex;width:clamp(60px,17cqw,220px);height:8px}
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
& td.where{min-width:0}& .model,& .measure .bar{display:none}& td.use{display:flex;gap:8px;align-items:center}& td.use .bar{margin:0}
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
& .accounts th[scope=row]{flex-basis:100%!important}
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
function watchVisibility(Q,ad){const w=Q.ownerDocument,
de=w.defaultView??window;
let cW=false,
T=null;
const aG=(a_=false)=>{const a5=cW&&!a_&&w.visibilityState!=="hidden";
if(a5!==T){T=a5;
ad(a5,a_)}else if(a_)ad(false,true)};
const bG=new IntersectionObserver(cJ=>{cW=cJ[cJ.length-1].isIntersecting;
aG()}),
c6=()=>aG(),
a_=()=>aG(true);
bG.observe(Q);
w.addEventListener("visibilitychange",c6);
de.addEventListener("pagehide",a_);
return()=>{bG.disconnect();
w.removeEventListener("visibilitychange",c6);
de.removeEventListener("pagehide",a_);
aG(true)}}
const MORE_ROWS=1000;
function mount(place,M,cY={}){const w=place.ownerDocument,
i=w.createElement("div"),
bv=w.createElement("style");
bv.textContent=STYLE;
i.className="nbaccel-cockpit";
i.dataset.lmSuppressShortcuts="true";
place.append(bv,i);
const a=cY.state??newState(cY.details??false);
a.goes=cell=>Boolean(M.go)||isHere(i,cell);
a.retries=Boolean(M.retries);
const clock=kernelClock();
let a5=false;
const bm={running:(new Set())};
let waiting=0;
const aA=()=>{waiting=0;
const c=M.snapshot(),
cM=i.contains(w.activeElement)?w.activeElement:null;
if(i.clientWidth)a.room=i.clientWidth-30;
if(!c)draw(i,drawEmpty("Waiting for the first snapshot of the cluster …"));
else drawSnapshot(i,c,a,c.ended?(c.time??0):clock.now());
if(cM&&!cM.isConnected)refocus(i,a)};
const bM=()=>{if(a5&&!waiting)waiting=requestAnimationFrame(aA)};
const cB=()=>{const c=M.snapshot();
if(c?.time)clock.heard(c.time);
forget(a,c);
if(a5&&!c?.ended)aG();
const told=c?endings(bm,c):[];
if(a.notices)notify(w.defaultView,told);
bM()};
const bL=(k,a_=false)=>{a5=k;
const bE=k||(a.notices&&!a_);
M.send({say:bE?"visible":"hidden",view:a.id,rows:k&&a.wide?MORE_ROWS:0});
if(k)bC.look();
else bC.end();
bM()};
const cL=finder(M,a),
bC=historian(M,a,clock.now),
aG=()=>{cL.find();
bC.look()};
const a9=[cL.end,bC.end,M.subscribe(cB),actions(i,M,a,{redraw:bM,more:()=>bL(a5),look:aG,recall:bC.heard,now:clock.now}),watchRows(i,a,bM),watchVisibility(i,bL)],
d8=setInterval(bM,1000);
cB();
aA();
return()=>{clearInterval(d8);
if(waiting)cancelAnimationFrame(waiting);
for(const ah of a9)ah();
bv.remove();
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
const a0=new Set((c.actors??[]).filter(row=>row.state!=="DEAD").map(row=>row.actor_id));
for(const row of c.tasks??[])if(!ENDED.has(row.state))a0.add(row.task_id);
for(const B of a.asked)if(!a0.has(B))a.asked.delete(B)}
function refocus(i,a){const dN=i.querySelector('[data-act="keep"]')??i.querySelector(a.details?'[role="tab"][aria-selected="true"]':'[data-act="details"]');
(dN)?.focus({preventScroll:true})}
function unpacked(ai){return{...ai,devices:rowsOf(ai.devices),tasks:rowsOf(ai.tasks)}}
function rowsOf(table){if(!table||Array.isArray(table))return table??[];
const rows=Array.from({length:table.rows},()=>({})),
ba=(N,dX)=>{for(const g in N){const ee=dX(N[g]);
rows.forEach((row,x)=>{const I=ee(x);
if(I!=null)row[g]=I})}};
ba(table.same,I=>()=>I);
ba({...table.each,...table.within},aY=>{const cz=rowsOf(aY);
return x=>cz[x]});
ba(table.of,([ds,cp])=>x=>ds[cp[x]]);
ba(table.cut,([bf,cT,ah])=>x=>cT[x]==null?null:bf+cT[x]+ah);
ba(table.lists,({sizes:d5,rows:dG})=>{const cz=rowsOf(dG);
return x=>cz.splice(0,d5[x])});
return rows}
function takePlaces(w,g,d2){const taken=new Map(),
c3=place=>{if(!taken.has((place)))taken.set((place),d2((place)))};
const c4=e=>{if(e.nodeType!==1)return;
const Q=(e);
if(Q.classList.contains(g))c3(Q);
for(const place of Q.getElementsByClassName(g))c3(place)};
const bG=new MutationObserver(d_=>{for(const[place,ch]of taken){if(place.isConnected)continue;
taken.delete(place);
ch()}
for(const bJ of d_)for(const e of bJ.addedNodes)if(e.isConnected)c4(e)});
bG.observe(w,{childList:true,subtree:true});
c4(w.documentElement);
return()=>{bG.disconnect();
for(const ch of taken.values())ch()}}
function cover(place,ba){const c$=([...place.children]),
a0=place.ownerDocument.createElement("div");
for(const D of c$)D.style.display="none";
place.append(a0);
const ah=ba(a0);
return()=>{ah();
a0.remove();
for(const D of c$)D.style.display=""}}
const PARTS={h,button,cell,empty,nameOf,table,rowsOf,PALETTE,age,amount,clock,count,demandWords,deviceWords,duration,hostWords,plain,stateWord,colourOf,subjectOf,deviceLabels,laneName,cellWords,LAST_MINUTE,WHOLE_RUN,inSight};
function loadedFrom(F,eb,ad){let C=false,
cR=null;
return()=>{const bk=F.get(eb);
if(bk&&!C){C=true;
import(URL.createObjectURL(new Blob([bk],{type:"text/javascript"}))).then(ci=>{cR=ci.default(PARTS);
ad()})}
return cR}}
function pastOf(F,ad){return loadedFrom(F,"past_code",ad)}
function runsOf(F,ad){const ci=loadedFrom(F,"runs_code",ad);
let q="",
r=null;
return()=>{const[cH,k]=[ci(),F.get("runs")];
if(cH&&k!==q)r=cH(JSON.parse((q=k)));
return r}}
const OF="nbaccel-of-";
function sourceOf(F){let q="",
cm=null,
b0=false,
cv=()=>{};
const bd=runsOf(F,()=>cv()),
bo=pastOf(F,()=>cv());
return{snapshot(){const k=F.get("snapshot");
if(k!==q){q=k;
cm=k?unpacked(JSON.parse(k)):null}
const ab=cm&&{...cm,runs:bd(),past:bo()};
return b0&&ab?{...ab,ended:true,lost:b0}:ab},subscribe(ad){const c8=()=>{b0=true;
ad()};
cv=ad;
F.on("change:snapshot",ad);
F.on("change:runs",ad);
F.on("change:past_code",ad);
F.on("comm_live_update",c8);
return()=>{F.off("change:snapshot",ad);
F.off("change:runs",ad);
F.off("change:past_code",ad);
F.off("comm_live_update",c8)}},listen(bl){F.on("msg:custom",bl);
return()=>F.off("msg:custom",bl)},send:E=>b0||F.send(E),retries:true}}
function render({model:F,el:dt}){return mount(dt,sourceOf(F),{state:newState(Boolean(F.get("details")))})}
function initialize({model:F}){const c1=new WeakMap();
return takePlaces(document,F.get("place"),place=>{const a=c1.get(place)??newState(place.classList.contains("nbaccel-details"));
a.only=[...place.classList].find(g=>g.startsWith(OF))?.slice(OF.length)??"";
c1.set(place,a);
return cover(place,a0=>mount(a0,sourceOf(F),{state:a}))})}
export default{initialize,render};
