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
async function d2(i,H,av){const b3=i.closest(".jp-Notebook");
const w=i.ownerDocument.defaultView;
if(!b3||!w)return;
const ct=H.split(" ")[0];
const ax=(q)=>[...b3.querySelectorAll(".jp-InputPrompt")].find((D)=>D.textContent===`${q}:`)?.closest(".jp-Cell");
const bK=b3.querySelector(".jp-WindowedPanel-outer")??b3;
const z=bK.scrollTop;
let cell=ax(ct);
for(let aW=0;!cell&&aW<bK.scrollHeight;aW+=STEP*bK.clientHeight){bK.scrollTop=aW;
await new Promise((aj)=>w.requestAnimationFrame(()=>w.requestAnimationFrame(aj)));
cell=ax(ct)}
if(!cell)bK.scrollTop=z;
cell??=ax("[*]");
if(!cell)return av(`No cell of this notebook is ${ct} any more.`);
cell.scrollIntoView({block:"center"});
(cell).focus({preventScroll:true})}
const SIZES=([[2**40,"TiB"],[2**30,"GiB"],[2**20,"MiB"],[2**10,"KiB"]]);
const ENDED=new Set(["FINISHED","FAILED","CANCELLED"]);
const RUNNING=new Set(["RUNNING","RUNNING_IN_RAY_GET","RUNNING_IN_RAY_WAIT","SUBMITTED_TO_WORKER"]);
function amount(bI){return String(Math.round(bI*10000)/10000)}
function size(bY){if(bY==null)return"unknown";
for(const[b9,U]of SIZES){if(bY>=b9){const M=bY/b9;
return`${M>=10||Number.isInteger(M)?Math.round(M):M.toFixed(1)} ${U}`}}
return`${bY} B`}
function age(aA){const aD=Math.max(0,Math.floor(aA));
if(aD<60)return`${aD} s`;
const[b9,b0,au,dJ]=aD<3600?["min",60,aD%60,"s"]:["h",3600,Math.floor((aD%3600)/60),"min"];
return`${Math.floor(aD/Number(b0))} ${b9}${au?` ${String(au).padStart(2,"0")} ${dJ}`:""}`}
function duration(aA){return aA<9.95?`${Math.max(0,aA).toFixed(1)} s`:age(aA)}
function clock(bP,k){const t=new Date(bP*1000);
const bQ=(l)=>String(l).padStart(2,"0");
const[dq,cH]=[`${bQ(t.getMonth()+1)}-${bQ(t.getDate())}`,`${bQ(t.getHours())}:${bQ(t.getMinutes())}`];
return t.toDateString()===new Date(k*1000).toDateString()?`${cH}:${bQ(t.getSeconds())}`:`${dq} ${cH}`}
function plain(q){return(q??"").replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,(dm)=>`\\u${dm.charCodeAt(0).toString(16).padStart(4,"0")}`)}
function hostWords(e){return/^[\d.:]+$/.test(e)?e:e.split(".")[0]}
function count(l,cm){return l===1||cm.endsWith("s")?`${l} ${cm}`:`${l} ${cm}s`}
function demandWords(dr){const ae=Object.entries(dr??{}).filter(([,bI])=>bI);
return ae.map(([e,bI])=>`${amount(bI)} ${plain(e)}`).join(", ")||"nothing"}
function deviceWords(bl){return Object.entries(bl??{}).filter(([,a1])=>a1.length).map(([e,a1])=>`${plain(e)} ${a1.map(plain).join(", ")}`).join("; ")}
function shortId(A){const dQ=A.length===48&&A.startsWith("000000",24);
if(dQ)return`${A.slice(0,4)}-${parseInt(A.slice(30,40),16)}`;
return A.startsWith("f".repeat(16))?A.slice(16,28):A.slice(0,12)}
function taskName(e){return plain(e).replace(/\.__init__$/," (starting)")}
function stateWord(a){if(RUNNING.has(a))return"running";
if(a.startsWith("PENDING"))return"waiting";
return a.toLowerCase().replaceAll("_"," ")}
function stateSign(U){return{running:"●",waiting:"◌",finished:"✓",failed:"✕",cancelled:"⊘","ended with it":"–",alive:"●",dead:"✕"}[U]??"◌"}
function ownerOf(c,row){if(!row.job||row.job===c.runtime.job||!c.jobs?.length)return"";
return plain(c.jobs.find((dI)=>dI.number===row.job)?.name??`job ${row.job}`)}
function cellWords(c,row){return[ownerOf(c,row),plain(row.cell)].filter(Boolean).join(" ")}
const LONG_S=60;
const MOST_RUNNING=10_000;
function endings(bm,c){const aB=[];
if(bm.running.size>MOST_RUNNING)bm.running.clear();
for(const row of c.tasks??[]){if(!ENDED.has(row.state)){if(row.started_at!=null&&!ownerOf(c,row))bm.running.add(row.task_id);
continue}
if(!bm.running.delete(row.task_id)||row.started_at==null)continue;
const aA=(row.finished_at??c.time??0)-row.started_at;
if(aA<LONG_S)continue;
const aX=row.reason==null?row.why:c.reasons?.[row.reason];
const cz=`${plain(row.name)} #${shortId(row.task_id)} ${{FINISHED:"has finished",FAILED:"has failed"}[row.state]??`was ${stateWord(row.state)}`}`;
aB.push({id:row.task_id,title:cz,body:[`after ${age(aA)}`,row.cell&&`cell ${plain(row.cell)}`,plain(aX)].filter(Boolean).join(" · ")})}
return aB}
async function eb(w,a,av){const bF=(w)?.Notification;
if(a.notices){a.notices=false;
av("");
return}
if(!bF)return av("This browser shows no notices.");
a.notices=(await bF.requestPermission())==="granted";
av(a.notices?"The browser will tell you when a task of more than a minute ends or fails.":"The browser does not let this page show notices. Its settings for this site can change that.")}
function notify(w,aB){const bF=(w)?.Notification;
if(!bF)return;
for(const{id:A,title:cz,body:by}of aB)new bF(cz,{body:by,tag:`nbaccel-${A}`})}
const OFFERED="nbaccel-order";
function secondWay(i,L,E,taken){const bq=L.snapshot()?.runtime.pid;
const dR=new CustomEvent(OFFERED,{bubbles:true,cancelable:true,detail:{message:E,pid:bq,taken}});
return!i.dispatchEvent(dR)}
const TILES=".scroll.of-tiles";
const REGIONS=".scroll[data-sight]";
function watchRows(i,a,az){const aJ=(o)=>{const B=(o.target);
if(B.matches?.(TILES))measureTiles(i,a);
else if(B.matches?.(REGIONS))note(B,a);
else return;
az()};
const moved=(o)=>{const by=o.type==="pointerover"?(o.target).closest?.(`${REGIONS} tbody`):null;
const aI=(by?.closest(REGIONS)??null)?.dataset.sight??"";
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
function measureRows(i,a){const d_=([...i.querySelectorAll(REGIONS)]);
return d_.map((B)=>note(B,a)).some(Boolean)}
function measureTiles(i,a){const B=i.querySelector(TILES);
const tile=B?.querySelector("li:not(.gap)");
const list=tile?.parentElement;
if(!B||!tile||!list)return false;
const bv=getComputedStyle(list);
const k={top:B.scrollTop,height:B.clientHeight,columns:bv.gridTemplateColumns.split(" ").length,row:tile.getBoundingClientRect().height+parseFloat(bv.rowGap)};
const z=a.tiles;
a.tiles=k;
return z?.columns!==k.columns||Math.abs(z.top-k.top)>k.row||Math.abs(z.height-k.height)>k.row||Math.abs(z.row-k.row)>0.1}
function note(B,a){const e=B.dataset.sight??"";
const z=a.sights.get(e);
const rows=B.querySelectorAll("tbody tr:not(.gap)");
if(!rows.length)return false;
const aq=(rows[rows.length-1].getBoundingClientRect().bottom-rows[0].getBoundingClientRect().top)/rows.length;
const Q=z&&(aq<8||Math.abs(aq-z.row)<4);
a.sights.set(e,{top:B.scrollTop,height:Math.max(B.clientHeight,100),row:Q?z.row:aq});
return!Q||Math.abs(z.top-B.scrollTop)>1}
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
const cP=(ef)=>[...B.querySelectorAll(ef)].map((D)=>D.getBoundingClientRect().height);
const cU=(u,m)=>{const k=u.reduce((ai,D)=>ai+D,0)/u.length;
return k>8&&Math.abs(k-m)>=4?k:m};
const[row,aN]=[cU(cP("tr[data-task]"),z.row),cU(cP("tr.reason"),z.reason)];
const Q=row===z.row&&aN===z.reason;
a.scrolled={top:B.scrollTop,height:Math.max(B.clientHeight,100),row,reason:aN};
return!Q||Math.abs(a.scrolled.top-z.top)>1}
const SAY_EVERY_MS=5000;
function speaker(a,r){let T=0;
let aE;
return(H)=>{clearTimeout(aE);
const ca=Math.max(0,T+SAY_EVERY_MS-Date.now());
aE=setTimeout(()=>{T=Date.now();
a.said=H;
r.redraw()},a.said?ca:0)}}
const LEAST_S=0.05;
const LEAST_DRAG_PX=6;
const CARD_PX=246;
const HOVERS=["pointerover","pointerleave","focusin","focusout"];
function zoomed({from,to:a3},bX,place=0.5){const b0=Math.max(LEAST_S,(a3-from)*bX);
const t=from+(a3-from)*place;
return{from:t-b0*place,to:t+b0*(1-place)}}
function moved({from,to:a3},bc){const bX=(a3-from)*bc;
return{from:from+bX,to:a3+bX}}
function keyed(y,aM){if(y==="+"||y==="=")return{range:zoomed(aM,0.5)};
if(y==="-")return{range:zoomed(aM,2)};
if(y==="ArrowLeft")return{range:moved(aM,-0.2)};
if(y==="ArrowRight")return{range:moved(aM,0.2)};
return y==="0"||y==="Home"?{range:null}:null}
function placeOfCard(i,bW){const[bg,a5]=[i.getBoundingClientRect(),bW.getBoundingClientRect()];
const ar=Math.max(8,Math.min(a5.left,bg.right-CARD_PX)-bg.left);
const bx=a5.top-bg.top<bg.height/2?`top:${a5.bottom-bg.top+4}px`:`bottom:${bg.bottom-a5.top+4}px`;
return`left:${Math.round(ar)}px;max-width:${CARD_PX-16}px;${bx}`}
function watchZoom(i,a,ab,az){let aQ=null;
const c3=(o)=>(o.target).closest?.("svg.timeline");
const placeOf=(aO,ei)=>{const a5=aO.getBoundingClientRect();
const{width:eh,left:ar,right:cu}=a.lanes;
return Math.min(1,Math.max(0,(((ei-a5.left)/a5.width)*eh-ar)/(cu-ar)))};
const de=(o)=>{const aO=c3(o);
if(!aO||!(o.ctrlKey||o.metaKey))return;
o.preventDefault();
a.range=zoomed(ab(),o.deltaY>0?1.25:0.8,placeOf(aO,o.clientX));
az(true)};
const pressed=(o)=>{const aO=c3(o);
aQ=aO&&o.button===0?{x:o.clientX,place:placeOf(aO,o.clientX)}:null};
const c$=(o)=>{const aO=i.querySelector("svg.timeline");
if(!aQ||!aO||Math.abs(o.clientX-aQ.x)<LEAST_DRAG_PX)return void(aQ=null);
const[ar,cu]=[aQ.place,placeOf(aO,o.clientX)].sort((N,I)=>N-I);
const{from,to:a3}=ab();
const aM={from:from+(a3-from)*ar,to:from+(a3-from)*cu};
if(aM.to-aM.from>=LEAST_S)a.range=aM;
aQ=null;
az(true)};
const cQ=(o)=>{const aI=(/pointerover|focusin/.test(o.type)?(o.target).closest?.("[data-bar]"):null);
const bW=aI?.dataset.bar??"";
if(bW===a.hover.bar)return;
a.hover={bar:bW,style:aI?placeOfCard(i,aI):""};
az(false)};
const y=(o)=>{const dS=(o.target).matches?.('.scroll[aria-label="Timeline"]');
const aj=dS&&!o.ctrlKey&&!o.metaKey?keyed(o.key,ab()):null;
if(!aj)return;
a.range=aj.range;
o.preventDefault();
az(true)};
i.addEventListener("wheel",de,{passive:false});
i.addEventListener("pointerdown",pressed);
i.addEventListener("pointerup",c$);
for(const cA of HOVERS)i.addEventListener(cA,cQ);
const ao=()=>{i.removeEventListener("wheel",de);
i.removeEventListener("pointerdown",pressed);
i.removeEventListener("pointerup",c$);
for(const cA of HOVERS)i.removeEventListener(cA,cQ)};
return{key:y,end:ao}}
const TAKEN_WITHIN_MS=1500;
function actions(i,L,a,r){const bS=new Map();
const av=speaker(a,r);
const bH=(E,e)=>{a.doubted="";
L.send(E);
a.asked.add(E.id);
clearTimeout(bS.get(E.id));
bS.set(E.id,setTimeout(()=>{if(E.say!=="retry"&&secondWay(i,L,E,av))return;
av(`The kernel is busy and takes messages only between cells: ${e} is told when the running cell ends. To end the cell itself, use Stop.`)},TAKEN_WITHIN_MS));
r.redraw()};
const bf={cancel:(n)=>bH({say:"cancel",id:n.id},`${n.name}`),retry:(n)=>bH({say:"retry",id:n.id},`${n.name}`),kill:(n)=>bH({say:"kill",id:n.id},`${n.name}`),"cancel-run":(n)=>bH({say:"stop",id:n.id},`${n.name}`),doubt(n){a.doubted=n.id??"";
av(`${n.name} belongs to ${n.owner}, not to this notebook.`)},notices:()=>void eb(i.ownerDocument.defaultView,a,av).then(r.more),sure:(n)=>void(a.doubted=n.id??""),"cancel-many":(n)=>bH({say:"cancel-many",id:n.id,function:n.function,filter:{state:n.state,cell:n.cell,text:n.text}},`${n.name}`),keep(){a.doubted="";
av("")},logs(n){delete a.past.task_log;
a.log=a.log?.id===n.id?null:{id:n.id??"",name:n.name??"",search:"",follow:true};
r.look()},"close-log":()=>void(a.log=null),go:({cell=""})=>void(L.go?L.go(cell):d2(i,cell,av)),details(){a.details=!a.details;
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
r.look()},sort(n){const bi=n.column??"";
a.sort={column:bi,down:a.sort.column===bi&&!a.sort.down};
a.held=null},group:(n)=>void(a.open.delete(n.function??"")||a.open.add(n.function??"")),tile:(n)=>void(a.device=a.device===n.device?"":(n.device??"")),copy(n){copyText(i.ownerDocument,n.text??"");
av(`Copied ${n.name}.`)},trace(){const c=L.snapshot();
if(c?.past)save(i.ownerDocument,JSON.stringify(c.past.traceOf(c,r.now())))}};
const cF=(o)=>{const bd=((o.target).closest?.("[data-act]"));
if(!bd||bd.hasAttribute("disabled"))return;
const al=bd.dataset.act??"";
const dH=(o).detail>1;
if(!dH||!/^(cancel|kill|retry)/.test(al))bf[al]?.(bd.dataset);
r.redraw()};
const c8=(o)=>{const aL=(o.target);
if(aL.dataset?.search&&a.log){a.log.search=aL.value;
r.redraw()}
const e=(aL.dataset?.filter);
if(!e)return;
a.filter={...a.filter,[e]:aL.value};
r.look();
r.redraw()};
const dh=watchZoom(i,a,()=>a.shown,(aM)=>{if(aM)r.look();
r.redraw()});
const y=(o)=>{if(!i.contains((o.target)))return;
dh.key(o);
pressed(o,i,bf,r)};
const bk=L.listen((E)=>{if(E.say==="taken"){clearTimeout(bS.get(E.id));
bS.delete(E.id);
av(E.words??"")}else if(E.say==="found"&&E.id===a.id){a.found=E.found}else if(E.say==="history"&&E.id===a.id){r.recall(E)}
r.redraw()});
const a8=[watchSight(i,a,r.redraw),dh.end];
i.addEventListener("click",cF);
i.addEventListener("input",c8);
const w=i.ownerDocument.defaultView;
w?.addEventListener("keydown",y,true);
return()=>{bk();
for(const ao of a8)ao();
for(const d8 of bS.values())clearTimeout(d8);
i.removeEventListener("click",cF);
i.removeEventListener("input",c8);
w?.removeEventListener("keydown",y,true)}}
function pressed(o,i,bf,r){const bd=(o.target);
if(o.key==="Escape"&&i.querySelector('[data-act="keep"]'))bf.keep({});
else if(o.key==="Escape"&&i.querySelector(".log"))bf["close-log"]({});
else if(bd.getAttribute("role")==="tab"){const tabs=([...i.querySelectorAll('[role="tab"]')]);
const t=tabs.indexOf(bd);
const cV={ArrowRight:t+1,ArrowLeft:t-1,Home:0,End:tabs.length-1}[o.key];
if(cV!==undefined){const R=tabs[(cV+tabs.length)%tabs.length];
bf.tab(R.dataset);
R.focus();
o.preventDefault()}}
if(o.key!=="Tab")o.stopPropagation();
r.redraw()}
function save(w,q){const b1=w.createElement("a");
b1.href=URL.createObjectURL(new Blob([q],{type:"application/json"}));
b1.download="nbaccel-trace.json";
b1.click();
setTimeout(()=>URL.revokeObjectURL(b1.href),1000)}
function kernelClock(dc=()=>Date.now()/1000){let cb=0;
return{heard(bP){cb=Math.max(cb,bP-dc())},now:()=>dc()+cb}}
const SVG="http://www.w3.org/2000/svg";
const DRAWN=Symbol("drawn");
const UNIT=/(\d) (?=(?:s|min|h|%|°C|W|B|[KMGT]iB|[CGT]PUs?)(?!\w))/g;
function h(d6,br={},...aR){const ah=[];
for(const p of aR){if(!Array.isArray(p))p||p===""?ah.push(p):null;
else for(const D of p)if(D||D==="")ah.push(D)}
return{tag:d6,key:br.key??"",props:br,children:ah}}
function draw(Y,aR){if(!fits(Y,aR))return arrange(Y,aR);
let f=Y.firstChild;
for(const p of aR){if(f)update(f,p,Y);
f=f?.nextSibling??null}}
function fits(Y,aR){let f=Y.firstChild;
for(const p of aR){if(!f||!isOf(f,p)||(typeof p!=="string"&&p.key!==keyOf(f)))return false;
f=f.nextSibling}
return!f}
function arrange(Y,aR){const bn=([...Y.childNodes]);
const keyed=new Map(bn.filter((f)=>keyOf(f)).map((f)=>[keyOf(f),f]));
const dU=bn.filter((f)=>!keyOf(f));
const cR=new Set();
let place=Y.firstChild;
for(const p of aR){const f=matching(p,keyed,dU)??created(p,Y);
cR.add(f);
update(f,p,Y);
if(f===place)place=place.nextSibling;
else Y.insertBefore(f,place)}
for(const f of bn)if(!cR.has(f))f.remove()}
function keyOf(f){return(f)[DRAWN]?.key??""}
function isOf(f,p){return typeof p==="string"?f.nodeType===3:(f)[DRAWN]?.tag===p.tag}
function matching(p,keyed,ay){if(typeof p!=="string"&&p.key){const f=keyed.get(p.key);
keyed.delete(p.key);
return f&&isOf(f,p)?f:undefined}
const x=ay.findIndex((f)=>isOf(f,p));
return x<0?undefined:ay.splice(0,x+1)[x]}
function created(p,Y){const w=Y.ownerDocument;
if(typeof p==="string")return w.createTextNode("");
const dG=p.tag==="svg"||Y.namespaceURI===SVG;
const P=dG?w.createElementNS(SVG,p.tag):w.createElement(p.tag);
(P)[DRAWN]={tag:p.tag,key:p.key,props:{},children:[]};
return P}
function update(f,p,Y){if(typeof p==="string"){if((f)[DRAWN]?.text===p)return;
(f)[DRAWN]={text:p};
f.nodeValue=unbroken(p,Y);
return}
const P=(f);
const ag=(P)[DRAWN];
if(ag.shape===p)return;
const z=ag.props;
for(const e in z)if(!(e in p.props))set(P,e,null);
for(const e in p.props)if(z[e]!==p.props[e])set(P,e,p.props[e]);
if("value"in p.props&&(P).value!==p.props.value)set(P,"value",p.props.value);
ag.props=p.props;
ag.shape=p;
if(p.children.length||P.firstChild)draw(P,p.children)}
function unbroken(q,Y){return q.endsWith("\n")||["pre","code"].includes((Y)[DRAWN]?.tag)?q:q.replace(UNIT,"$1\u00a0")}
function set(P,e,M){if(e==="key")return;
if(e==="value")(P).value=M??"";
else if(M==null||M===false)P.removeAttribute(e);
else if(e==="style")P.setAttribute("style",M);
else P.setAttribute(e,M===true?"":String(M))}
function table(bZ,S,rows,more={}){const dC=S.map((bi,x)=>head(typeof bi==="string"?{name:bi}:bi,x,more.sort));
return h("div",{class:bZ==="Devices"?"scroll whole":"scroll",key:bZ,role:"region","aria-label":bZ,tabindex:"0","data-sight":more.sight??null},h("table",{"aria-rowcount":more.rows&&more.rows+1},h("caption",{class:"unseen"},bZ),h("thead",{},h("tr",{},dC)),h("tbody",{},rows)))}
function head({name:e,sort:bu},x,bN){if(!bu)return h("th",{scope:"col",key:e||`c${x}`},e||h("span",{class:"unseen"},"Actions"));
const bT=bN?.column!==bu?"none":bN.down?"descending":"ascending";
const dk={none:"",ascending:" ↑",descending:" ↓"}[bT];
return h("th",{scope:"col",key:e,"aria-sort":bT},h("button",{type:"button",class:"sorts","data-act":"sort","data-column":bu},e,h("span",{"aria-hidden":"true"},dk)))}
function nameOf(e){return h("span",{class:"name cut",title:e},e)}
function button(K,br){return h("button",{type:"button",...br},K)}
const VERBS={cancel:"Cancel",kill:"Kill",retry:"Retry"};
function endButton(al,bV,K,a){const{id:A,name:e,owner:aC}=bV;
const aP={"data-id":A,"data-name":e};
if(a.asked.has(A))return button("asked…",{...aP,"aria-label":`${VERBS[al]} ${e} ${K}`,disabled:true});
if(!aC)return button(VERBS[al],{...aP,"data-act":al,"aria-label":`${VERBS[al]} ${e} ${K}`});
if(a.doubted!==A){return button(`${VERBS[al]}…`,{...aP,"data-act":"doubt","data-owner":aC,"aria-label":`${VERBS[al]} ${e} ${K} of ${aC}`})}
return h("span",{class:"ask nowrap"},button("Keep",{...aP,"data-act":"keep","aria-label":`Keep ${e} of ${aC}`})," ",button(`${VERBS[al]} it`,{...aP,"data-act":al,class:"urgent","aria-label":`${VERBS[al]} ${e} of ${aC} all the same`}))}
function empty(q,bh){return h("p",{class:"quiet empty",key:"empty"},q,bh&&" ",bh&&h("code",{},bh))}
function stateCell(sign,U,aw){const b5=aw!=null&&(U==="running"||U==="alive")?` ink c${aw}`:"";
return h("td",{class:`nowrap state ${U}`},h("span",{class:`sign${b5}`,"aria-hidden":"true"},sign),` ${U}`)}
function whereCell(H,a){const aC=H.startsWith("[")?"":H.replace(/ \[\d+\].*/,"");
const ab=aC.length>24?[h("span",{class:"cut",title:aC},aC),H.slice(aC.length)]:[H];
return cell(H&&a.goes(H)?h("button",{type:"button",class:"goes","data-act":"go","data-cell":H,title:"Show the cell"},ab):ab,"nowrap where")}
function cell(a7,v){return h("td",v?{class:v}:{},a7)}
const MOST_CHARACTERS=200_000;
const MOST_LINES=2_000;
function withLog(z,s){const af=[{text:s.out.text,err:false},{text:s.err.text,err:true}].filter((dT)=>dT.text);
const gap=z&&(s.out.left_out||s.err.left_out)?[{text:"… too much was printed to show all of it …\n",err:true}]:[];
let a2=[...(z?.pieces??[]),...gap,...af];
let size=a2.reduce((ai,{text:q})=>ai+q.length,0);
while(size>MOST_CHARACTERS&&a2.length>1){size-=a2[0].text.length;
a2=a2.slice(1)}
return{pieces:a2,out:s.out.to,err:s.err.to,over:s.over,pid:s.pid?String(s.pid):"",done:s.over&&Boolean(z?.over)&&!af.length,failure:s.failure,yours:s.yours??"",note:s.note,left:z?.left||Boolean(s.out.left_out||s.err.left_out)}}
function logLines(a2){const aa=[];
const aH={false:null,true:null};
for(const{text:q,err:aY}of a2){const ae=q.split("\n");
ae.forEach((V,x)=>{const a_=aH[String(aY)]??{text:"",err:aY};
if(aH[String(aY)]===null&&(V||x<ae.length-1))aa.push(a_);
a_.text+=V;
aH[String(aY)]=x<ae.length-1?null:aa.includes(a_)?a_:null})}
return aa.map(({text:q,err:aY})=>({text:plain(q.replace(/\r+$/,"").split("\r").at(-1)?.replaceAll("\t","    ")),err:aY}))}
function logRow(a,S){const aF=a.log;
if(!aF)return null;
const m=(a.past.task_log?.data??null);
return h("tr",{key:`log/${aF.id}`,class:"logrow"},h("td",{colspan:S},h("section",{class:"log","aria-label":`Log of ${aF.name}`},logHead(aF,m),...failureOf(m),printed(aF,m))))}
function logHead(aF,m){return h("div",{class:"line",key:"head"},h("strong",{},`Log of ${aF.name}`),m?.pid&&h("span",{class:"quiet"},`all that its process has printed, pid ${m.pid}`),m&&!m.over&&h("span",{class:"chip"},"live"),h("label",{class:"aside quiet"},"Search ",h("input",{type:"search","data-search":"log",value:aF.search,"aria-label":`Search the log of ${aF.name}`})),button("Close",{"data-act":"close-log","aria-label":"Close the log"}))}
function failureOf(m){if(!m?.failure)return[];
const aD=h("pre",{tabindex:"0","aria-label":"The whole traceback"},m.failure);
if(!m.yours||m.yours===m.failure)return[h("div",{key:"failure",class:"failure"},aD)];
return[h("div",{key:"failure",class:"failure"},h("pre",{tabindex:"0","aria-label":"Your code in the traceback"},m.yours),h("details",{open:true},h("summary",{},"The whole traceback"),aD))]}
function printed(aF,m){if(!m)return h("p",{class:"quiet",key:"none"},"Asking the kernel …");
const u=logLines(m.pieces);
const b8=aF.search.trim().toLowerCase();
const ax=b8?u.filter(({text:q})=>q.toLowerCase().includes(b8)):u;
const dP=m.note||(b8&&u.length?"No line has this text.":m.over?"It has printed nothing.":"It has printed nothing yet.");
const cW=[b8&&u.length&&`${ax.length} of ${count(u.length,"line")}`,m.left&&"the beginning is only in %accel_logs",ax.length>MOST_LINES&&`the last ${MOST_LINES} lines`].filter(Boolean);
return h("div",{key:"printed"},cW.length>0&&h("p",{class:"quiet",role:"status"},cW.join(" · ")),ax.length?h("pre",{class:"printed",tabindex:"0","aria-label":"What it has printed"},ax.slice(-MOST_LINES).map(({text:q,err:aY},x)=>h("span",{key:`l${x}`,class:aY?"err":null},`${q}\n`))):h("p",{class:"quiet"},dP))}
function followLog(i,a){const B=a.log?.follow&&i.querySelector(".printed");
if(B)B.scrollTop=B.scrollHeight}
const FIND_EVERY_MS=1000;
const FOUND_AT_FIRST=200;
const MOST_FOUND=1000;
function findKey({filter:G,wide:eg}){return G.state||G.cell||G.text.trim()?JSON.stringify([G,eg]):""}
function foundNow(a){const y=findKey(a);
return y&&a.found?.key===y?a.found:null}
function finder(L,a){let T=0;
let C="";
let aE;
const bw=()=>{clearTimeout(aE);
aE=undefined;
const y=a.details&&a.tab==="tasks"?findKey(a):"";
if(!y)return;
T=Date.now();
C=y;
L.send({say:"find",id:a.id,key:y,filter:a.filter,limit:a.wide?MOST_FOUND:FOUND_AT_FIRST})};
const dz=()=>{if(findKey(a)!==C)bw();
else aE??=setTimeout(bw,Math.max(0,T+FIND_EVERY_MS-Date.now()))};
return{find:dz,end:()=>clearTimeout(aE)}}
function laneName(g){return`${(g.node_id??"").slice(0,12)}/${g.resource}/${g.id}`}
const KEPT_S=120;
const LETTERS="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const MOST_DEVICES=128;
function hasLines(c){const Z=c.devices??[];
return Z.length<=MOST_DEVICES&&Z.some((row)=>row.metrics)}
function withReadings(z,s){const Q=z?.origin===s.origin&&z?.step===s.step_s?z:null;
const ao=s.first+s.steps;
const _=Math.max(ao-Math.round(KEPT_S/s.step_s),Q?Q.first:s.first);
const aa=new Map();
s.devices.forEach((dv,x)=>{const e=s.prefix+dv;
const m=Q?.lines.get(e);
const a_=(V,cv=1)=>Array.from({length:ao-_},(ej,t)=>{const cw=_+t-s.first;
const bn=cw<0?m?.[V][_+t-(Q?.first??0)]:null;
if(cw<0)return bn==null?null:bn*cv;
const aS=LETTERS.indexOf(s[V][x*s.steps+cw]);
return aS<0?null:aS/(LETTERS.length-1)});
const u={utilisation:a_("utilisation"),memory:a_("memory"),power:a_("power",Q?Q.watts/s.power_watts:1)};
aa.set(e,u).set(e.slice(e.indexOf("/")),u)});
return{since:s.seq,origin:s.origin,step:s.step_s,first:_,watts:s.power_watts,lines:aa}}
function linesOf(dX,row){return dX?.lines.get(laneName(row))??null}
function rowsQuestion(a,c){const cK=(A)=>a.past[`rows/${A}`]?.due??0;
const[bJ]=(c.runs?.open(a)??[]).sort((N,I)=>cK(N)-cK(I));
return bJ?{ask:"rows",key:`rows/${bJ}`,record:bJ}:null}
function placeOf({ask:bw,key:y}){return bw==="rows"?y:bw}
function withRows(z,s){const rows=new Map(z?.rows);
for(const[y,row]of Object.entries(s.rows))rows.set(y,row);
return{since:s.seq,total:s.total,rows}}
const LAST_MINUTE=60;
const WHOLE_RUN=0;
let views=0;
function newState(ds){views+=1;
return{id:`nbaccel-${views}-${Math.random().toString(36).slice(2,8)}`,details:ds,listed:false,tab:"devices",filter:{state:"",cell:"",text:""},sort:{column:"",down:false},held:null,order:[],open:new Set(),device:"",scrolled:{top:0,height:460,row:46,reason:23},sights:new Map(),tiles:undefined,heldSight:"",only:"",wide:false,window:LAST_MINUTE,range:null,shown:{from:0,to:1},lanes:{width:1000,left:110,right:990},room:1000,hover:{bar:"",style:""},rows:new Map(),asked:new Set(),doubted:"",found:null,retries:false,goes:()=>false,said:"",log:null,notices:false,past:{}}}
const LEAST_PAUSE_MS=250;
const LATE_MS=10_000;
const MINUTES_TOLD=3;
function questionOf(a,c,k){const{engine:cf,pid:bq}=c.runtime;
const a6=`${cf} ${bq??""} ${c.nodes?.[0]?.node_id??""}`;
if(a.only)return rowsQuestion(a,c);
const r=a.details?a.tab:"devices";
if(r==="runs")return rowsQuestion(a,c);
if(r==="devices"&&hasLines(c))return{ask:"readings",key:a6};
if(r==="tasks"&&a.log){const[y,m]=[`${a6} ${a.log.id}`,a.past.task_log];
const q=m?.key===y?m.data:null;
return q?.done?null:{ask:"task_log",key:y,task_id:a.log.id,out_since:q?.out??0,err_since:q?.err??0}}
if(r==="accounting")return{ask:"accounting",key:a6};
if(r!=="timeline")return null;
if(a.range)return{ask:"runs",key:`${a6} ${a.range.from} ${a.range.to}`,start:a.range.from,end:a.range.to};
if(a.window===WHOLE_RUN)return{ask:"runs",key:`${a6} all`};
const m=a.past.runs;
const dY=m?.start&&m.key===`${a6} last`&&k-m.start<MINUTES_TOLD*LAST_MINUTE;
return{ask:"runs",key:`${a6} last`,start:dY?m.start:k-a.window}}
function historian(L,a,k){let T=0;
let aE;
let C=-LATE_MS;
const dK=()=>{if(Date.now()-C<LATE_MS)return;
C=Date.now();
L.send({say:"past"})};
let bE=true;
const aG=()=>{bE=true;
clearTimeout(aE);
const c=L.snapshot();
const aU=c&&!c.ended?questionOf(a,c,k()):null;
if(!aU)return;
if(!["readings","task_log","rows"].includes(aU.ask)&&!c?.past)return void dK();
const place=placeOf(aU);
const m=a.past[place];
const Q=m?.key===aU.key&&m.start===aU.start;
const ca=Math.max(Q?m.due:0,T+LEAST_PAUSE_MS)-Date.now();
if(ca>0)return void(aE=setTimeout(aG,ca));
T=Date.now();
const n=Q||aU.ask==="runs"?(m?.data??null):null;
a.past[place]={key:aU.key,start:aU.start,due:T+LATE_MS,data:n};
L.send({say:"history",id:a.id,...aU,since:Q?(n?.since??0):0})};
const bk=(E)=>{const bo=a.past[placeOf(E)];
if(bo?.key!==E.key)return;
const s=JSON.parse(E.answer);
const aB={readings:withReadings,task_log:withLog,rows:withRows}[(E.ask)]??L.snapshot()?.past?.told[E.ask];
if(aB)bo.data=aB(bo.data,s);
bo.due=Date.now()+1000*s.pause_s;
const dB=E.ask==="task_log"||(E.ask==="rows"&&!s.pause_s);
if(dB&&bE)aG()};
const ao=()=>{bE=false;
clearTimeout(aE)};
return{look:aG,heard:bk,end:ao}}
const GROUPS=8;
function heldWords({heldBy,devicesFree:cI,devicesTaken:bz,ended:ak}){if(ak)return[];
const a1=heldBy.slice(0,GROUPS).map(({name:e,number:l,colour:aw},t)=>[t>0&&", ",h("span",{key:e,class:"nowrap"},h("span",{class:`swatch c${aw}`,"aria-hidden":"true"}),` ${e}${l>1?` × ${l}`:""}`)]).flat();
const more=heldBy.length>GROUPS&&` and ${heldBy.length-GROUPS} more`;
const ay=[cI&&`${cI} free`,bz&&`${bz} taken by others`].filter(Boolean).map((H)=>` · ${H}`).join("");
return[a1.length?"Held by ":"Nobody holds one",...a1,more,ay]}
function taken({state:a}){return a==="taken"&&h("span",{class:"part taken"})}
function shareBar({heldBy,deviceTotal:an,devicesTaken:bz}){const V=(v,bc)=>h("span",{key:v,class:`part ${v}`,style:`width:${Math.round(1000*bc/an)/10}%`});
return h("span",{class:"bar","aria-hidden":"true"},heldBy.map(({colour:aw,share:bc})=>V(`c${aw}`,bc)),bz>0&&V("taken",bz))}
const PALETTE={hues:[["#1575c3","#207cca","#056ebb"],["#99612a","#a06731","#a76e38"],["#149599","#229da0","#2da4a7"],["#b74977","#be507e","#c65785"],["#978d17","#9e9423","#908606"],["#9082f1","#897be9","#8274e1"],["#6aa173","#639a6d","#5c9366"],["#c27bc6","#bb74bf","#b36db8"]],failure:"#ec1c24",attention:"#c77700",waiting:"#808080",grounds:["#ffffff","#212121"]};
const HUES=PALETTE.hues.length;
const SHADES=PALETTE.hues[0].length;
function numberOf(q){let b_=2166136261;
for(let cg=0;cg<q.length;cg++)b_=Math.imul(b_^q.charCodeAt(cg),16777619);
return(b_^(b_>>>15))>>>0}
function colourOf(c,aV,A){const dF=c.hues?.[aV]??numberOf(aV)%HUES;
return dF*SHADES+(A?numberOf(A)%SHADES:0)}
function subjectOf(row){const aD=row.function||row.name;
return(row.kind??"task")==="task"?aD:aD.split(".",1)[0]}
function inkOn(aw){const[dW,dA,I]=[1,3,5].map((t)=>parseInt(aw.slice(t,t+2),16)/255).map((V)=>(V<=0.03928?V/12.92:((V+0.055)/1.055)**2.4));
return 0.2126*dW+0.7152*dA+0.0722*I>0.179?"#000":"#fff"}
function colourRules(d0){return PALETTE.hues.flat().map((aw,l)=>`${d0} .c${l}{background:${aw};fill:${aw};--c:${aw};--on:${inkOn(aw)}}`).join("\n")}
const STATES=["running","waiting","failed","cancelled","finished"];
function taskCounts(c){const J=Object.fromEntries(STATES.map((a)=>[a,0]));
for(const[a,l]of Object.entries(c.counts??{})){const U=stateWord(a);
J[U]=(J[U]??0)+l}
return J}
function waitingViews(c,k){return(c.tasks??[]).filter((row)=>stateWord(row.state)==="waiting").sort((N,I)=>(N.submitted_at??0)-(I.submitted_at??0)).map((row)=>taskView(row,c,k))}
function taskViews(c,G,k){const q=G.text.trim().toLowerCase();
const rows=(c.tasks??[]).filter((row)=>passes(row,c,G,q));
return rows.map((row)=>taskView(row,c,k))}
function passes(row,c,G,q){if(G.state&&stateWord(row.state)!==G.state)return false;
if(G.cell&&cellOf(row,c)!==G.cell)return false;
if(!q)return true;
return[row.name,taskName(row.name),row.task_id,row.cell,whyOf(row,c),deviceWords(row.device_ids)].some((D)=>(D??"").toLowerCase().includes(q))}
function cellOf(row,c){return row.cell?cellWords(c,{job:row.job,cell:row.cell.split(" ")[0]}):""}
function cellsOf(c){const l=(cell)=>Number(/\[(\d+)\]$/.exec(cell)?.[1]??0);
const b5=(cell)=>(cell.startsWith("[")?0:1);
const dl=new Set((c.tasks??[]).map((row)=>cellOf(row,c)).filter(Boolean));
return[...dl].sort((N,I)=>b5(N)-b5(I)||l(N)-l(I))}
function whyOf(row,c){return row.reason==null?(row.why??""):(c.reasons?.[row.reason]??"")}
function withoutSubject(aX,row){const e=plain(row.name).replace(/\.__init__$/,"");
const cell=plain(row.cell);
if(!aX.startsWith(e))return aX;
let au=aX.slice(e.length+1);
if(cell&&au.startsWith(`(cell ${cell}`))au=au.slice(au.indexOf(") ")+2);
if(au.startsWith("waits for "))return au.includes(". ")?au.slice(au.indexOf(". ")+2):au;
return au.startsWith("asks ")?au:aX}
function taskView(row,c,k){const a=stateWord(row.state);
const bO=a==="waiting"?row.submitted_at:(row.started_at??row.submitted_at);
const aI=ENDED.has(row.state);
return{id:row.task_id,short:shortId(row.task_id),name:taskName(row.name),sign:stateSign(a),state:a,devices:deviceWords(row.device_ids),pid:row.pid?String(row.pid):"",cell:cellWords(c,row),owner:ownerOf(c,row),age:bO==null?"":age((row.finished_at??k)-bO),started:row.started_at==null?"":clock(row.started_at,k),took:tookWords(row,a,k),subject:plain(subjectOf(row)),colour:colourOf(c,subjectOf(row),row.actor_id||row.task_id),keys:{submitted:row.submitted_at??0,started:row.started_at??Infinity,took:row.started_at==null?-1:(row.finished_at??k)-row.started_at},peak:row.peak_memory_bytes==null?"":size(row.peak_memory_bytes),why:[row.retry_of&&`retry of #${shortId(row.retry_of)}`,row.choice?`runs as ${plain(row.choice)}`:"",withoutSubject(plain(whyOf(row,c)),row)].filter(Boolean).join(": "),retryable:Boolean(row.retryable),asks:Object.keys(row.demand??{}).length?demandWords(row.demand):"",cancellable:!aI&&row.state!=="ENDED_WITH_IT"}}
function tookWords(row,a,k){if(a==="waiting")return row.submitted_at==null?"":`waits ${age(k-row.submitted_at)}`;
if(row.started_at==null)return"";
const aA=(row.finished_at??k)-row.started_at;
if(row.finished_at!=null)return duration(aA);
const[aj,X]=row.progress??[0,0];
if(!X)return age(aA);
const ar=aj>0&&aj<X?`${age((aA*(X-aj))/aj)} left`:"";
return[age(aA),`${Math.round((100*aj)/X)} %`,ar].filter(Boolean).join(" · ")}
function actorViews(c,k){return(c.actors??[]).map((row)=>actorView(row,c,k))}
function actorView(row,c,k){const a=row.state==="PENDING_CREATION"?"waiting":stateWord(row.state);
return{id:row.actor_id,name:plain(row.class_name)+(row.name?` “${plain(row.name)}”`:""),sign:stateSign(a),state:a,devices:deviceWords(row.device_ids),pid:row.pid?String(row.pid):"",cell:cellWords(c,row),owner:ownerOf(c,row),age:row.since==null?"":age(k-row.since),colour:colourOf(c,row.class_name,row.actor_id),calls:row.pending_calls?String(row.pending_calls):"",why:[row.restarts?`restarted ${row.restarts} ×`:"",plain(row.why)].filter(Boolean).join(" · "),alive:row.state!=="DEAD"}}
const MOST_OF_ONE=8;
const ORDER=["running","failed","waiting","cancelled","finished"];
const OVERSCAN=12;
const KEYS={task:(d)=>`${d.name}\n${d.short}`,state:(d)=>place(d.state),devices:(d)=>d.devices||"~",started:(d)=>d.keys.started,took:(d)=>d.keys.took};
function place(a){const t=ORDER.indexOf(a);
return t<0?ORDER.length:t}
function ordered(W,bu,$){const y=KEYS[bu.column];
const db=(N,I)=>place(N.state)-place(I.state)||I.keys.submitted-N.keys.submitted;
const dp=(N,I)=>{if(!y)return db(N,I);
const[cY,c_]=[y(N),y(I)];
const bT=cY<c_?-1:cY>c_?1:0;
return(bu.down?-bT:bT)||db(N,I)};
const bN=[...W].sort(dp);
if(!$)return bN;
const z=new Map($.map((A,x)=>[A,x]));
return bN.sort((N,I)=>(z.get(N.id)??$.length)-(z.get(I.id)??$.length))}
function grouped(W,aH){const cc=new Map();
for(const d of W){const Q=cc.get(d.subject);
if(Q)Q.push(d);
else cc.set(d.subject,[d])}
const rows=[];
for(const d of W){const Q=cc.get(d.subject)??[];
if(Q.length<=MOST_OF_ONE)rows.push({task:d,inGroup:false});
else if(Q[0]===d)rows.push(...groupRows(Q,aH.has(d.subject)))}
return rows}
function groupRows(W,aH){const J=new Map();
for(const d of W)J.set(d.state,(J.get(d.state)??0)+1);
const aj=J.get("finished")??0;
const ay=STATES.filter((a)=>a!=="finished"&&J.get(a)).map((a)=>`${J.get(a)} ${a}`);
const ap={subject:W[0].subject,tasks:W,open:aH,done:aj,failed:J.get("failed")??0,others:ay};
return[{group:ap},...(aH?W.map((d)=>({task:d,inGroup:true})):[])]}
function alike(waiting){const bB=new Map();
for(const d of waiting){const y=`${d.name}\n${d.why}\n${d.asks}`;
const ap=bB.get(y)??{task:d,number:0,ids:[]};
ap.number+=1;
ap.ids.push(d.id);
bB.set(y,ap)}
return[...bB.values()].sort((N,I)=>I.number-N.number)}
function tasksInSight(rows,{top:aW,height:aq,row,reason:aN}){let u=0;
const a8=rows.map((D)=>(u+="task"in D&&D.task.why?row+aN:row));
const t=(dg)=>(u>dg?a8.findIndex((ao)=>ao>dg):rows.length);
const bO=t(Math.min(aW,u-aq));
const _=Math.max(0,bO-OVERSCAN);
const T=Math.min(rows.length,t(aW+aq)+2*OVERSCAN-(bO-_));
return{first:_,last:T,above:a8[_-1]??0,below:u-(a8[T-1]??0)}}
function inSight(l,aJ){const bL=Math.ceil(aJ.height/aJ.row)+2*OVERSCAN;
const _=Math.max(0,Math.min(Math.floor(aJ.top/aJ.row)-OVERSCAN,l-bL));
return{first:_,last:Math.min(l,_+bL)}}
const MOST_CHIPS=8;
const NAMED_IN_FULL=4;
function drawCard(b,a){return[h("div",{key:"strip",class:"one-line strip",role:"group","aria-label":"Devices"},strip(b)),h("div",{key:"most",class:"one-line most"},mostUrgent(b,a))]}
function strip(b){const{deviceTotal:an,devices:Z,ended:ak}=b;
if(!an)return h("span",{class:"has quiet",title:[...b.found,"nbaccel.init(num_gpus=2)"].join(" ")},["No accelerator.",...b.found,"This counts two logical ones: "].join(" "),h("code",{},"nbaccel.init(num_gpus=2)"));
if(ak)return h("span",{class:"has quiet"},`It had ${an} × ${b.sameModel||an===1?Z[0].model:"devices"}.`);
if(an>MOST_CHIPS)return[shareBar(b),h("span",{class:"has",title:b.heldBy.map(({name:e,number:l})=>`${e} × ${l}`).join(", ")},heldWords(b))];
return Z.map((g)=>deviceChip(g,an))}
function deviceChip(g,X){const{label:K,holders,state:a,reason:aN}=g;
const af=holders.map(({name:e,part:V,cell,owner:aC,age})=>[e,...[V,[cell&&`cell ${cell}`,aC].filter(Boolean).join(" of "),age].filter(Boolean)].join(" · "));
const $=holders.map((j,t)=>[t>0&&", ",h("span",{key:j.key,class:"name"},j.name),h("span",{class:"quiet"},af[t].slice(j.name.length))]).flat();
return h("span",{key:g.key,class:X>NAMED_IN_FULL?"device many":"device","data-device":K,title:[K,...(holders.length?af:[aN||a])].join(", ")},h("span",{class:"label"},X>NAMED_IN_FULL?K.replace(/^\S+ /,""):K),h("span",{class:"bar","aria-hidden":"true"},holders.map((j)=>h("span",{class:`part c${j.colour}`,style:`width:${100*j.fraction}%`})),!holders.length&&taken(g)),h("span",{class:"has"},holders.length?$:h("span",{class:"quiet"},aN?`${a}: ${aN}`:a)))}
function mostUrgent(b,a){const{alerts:aK,nodes:dO,ended:ak}=b;
const O=aK.find(({kind:v})=>v==="failed")??aK[0];
if(O){const more=aK.length>1&&button(`and ${aK.length-1} more`,{"data-act":"tab","data-tab":"alerts"});
return[h("span",{class:"has alert",title:O.message},h("strong",{},"⚠ Attention:"),` ${O.message}`),more]}
const[ap]=ak?[]:alike(b.waiting);
if(ap)return waits(ap,b.counts.waiting-ap.number);
const c6=b.runs?.brief(a)??[];
if(c6.length)return c6.slice(0,2);
const a0=dO.find(({moves:dM})=>dM);
if(a0)return h("span",{class:"has",title:a0.why},h("span",{class:"sign","aria-hidden":"true"},`${a0.sign} `),nameOf(a0.name),` ${a0.state} `,h("span",{class:"quiet"},a0.why));
if(ak)return h("span",{class:"quiet"},b.endedAt);
if(b.taskTotal)return h("span",{class:"quiet"},"Nothing waits, and nothing needs attention.");
return h("span",{class:"has quiet",title:"f.remote()"},"No task yet. A call makes one: ",h("code",{},"f.remote()"))}
function waits({task:d,number:l},ay){const aX=d.why||d.asks;
return[h("span",{class:"has",title:aX},h("span",{class:"sign","aria-hidden":"true"},"◌ "),l>1&&`× ${l} `,nameOf(d.name),` waits ${d.age}: `,h("span",{class:"quiet"},aX)),ay>0&&button(`and ${ay} more`,{"data-act":"tab","data-tab":"waiting"})]}
const HEIGHT=16;
function shape(at,dy=false){const b7=at.map((aS,t)=>(aS==null?null:`${t} ${Math.round(10*(HEIGHT-1-aS*(HEIGHT-2)))/10}`));
let cr="";
let aQ=-1;
b7.forEach((b6,t)=>{if(b6!=null)cr+=(b7[t-1]==null?"M":"L")+b6;
if(b6!=null&&b7[t-1]==null)aQ=t;
if(b6!=null&&b7[t+1]==null&&dy)cr+=`L${t} ${HEIGHT}L${aQ} ${HEIGHT}Z`});
return cr}
function spark(aa,br={}){const d5=Math.max(2,...aa.map(({levels:at})=>at.length));
return h("svg",{class:"spark",viewBox:`0 0 ${d5-1} ${HEIGHT}`,preserveAspectRatio:"none","aria-hidden":"true",...br},aa.map(({levels:at,kind:v})=>[v==="area"&&h("path",{key:"under",class:"under",d:shape(at,true)}),h("path",{key:v,class:v,d:shape(at)})]).flat())}
function between(at){const m=(at??[]).filter((aS)=>aS!=null);
const aT=(aS)=>`${Math.round(100*aS)} %`;
return m.length>1?`between ${aT(Math.min(...m))} and ${aT(Math.max(...m))} in the last two minutes`:""}
const GAP_PX=4;
function drawTiles(b,a){const{devices:Z,devicesBefore:ce,deviceTotal:an}=b;
const inSight=Z.length<an?a.tiles??{row:40,columns:20}:null;
const aa=(l)=>Math.ceil(l/(inSight?.columns??1))*(inSight?.row??0);
const cS=Z.some((g)=>g.lines);
const list=h("ul",{class:cS?"tiles lined":"tiles","aria-label":"Devices"},emptyLines("above",aa(ce)),Z.map((g,x)=>knownTile(g,inSight?ce+x+1:0,an,a)),emptyLines("below",aa(an)-aa(ce+Z.length)));
return h("div",{key:"tiles"},inSight?h("div",{class:"scroll of-tiles",role:"region",tabindex:"0","aria-label":`${an} devices`},list):list,h("p",{class:"quiet small",key:"holders"},heldWords(b),cS&&" · Lines: load (filled), memory and power (dotted) of the last two minutes."),cardOf(Z.find((g)=>g.key===a.hover.bar),a))}
function emptyLines(bU,aq){return aq>GAP_PX&&h("li",{key:bU,class:"gap","aria-hidden":"true",style:`height:${aq-GAP_PX}px`})}
function cardOf(g,a){if(!g)return null;
const{node:f,label:K,model:F,holders,utilisation,memory,facts,reason:aN}=g;
const $=holders.map((j)=>h("div",{key:j.key},h("span",{class:`swatch c${j.colour}`}),h("strong",{},j.name)," ",[j.part,j.cell&&`cell ${j.cell}`,j.owner,j.age].filter(Boolean).join(" · ")));
return h("div",{class:"hover",key:"hover",style:a.hover.style,"aria-hidden":"true"},h("strong",{},[f,K].filter(Boolean).join(" ")),` ${g.state}`,$,h("div",{class:"quiet small"},[utilisation?.text,memory?.text,facts,between(g.lines?.utilisation),aN].filter(Boolean).join(" · ")||F))}
function knownTile(g,place,X,a){const am=g.key===a.device;
const H=tileWords(g);
const a7=[H,am,place,g.holders.map((j)=>`${j.colour}/${j.fraction}`)].join("\n");
const m=a.rows.get(`tile ${g.key}`);
if(m?.content===a7&&m.of===g.lines)return m.shape;
const shape=tile(g,H,am,place?{"aria-posinset":place,"aria-setsize":X}:{});
a.rows.set(`tile ${g.key}`,{content:a7,shape,of:g.lines});
return shape}
function tile(g,H,am,cs){const l=g.label.replace(/^\S+ /,"");
const ae=g.holders.map((j)=>h("span",{class:`part c${j.colour}`,style:`width:${100*j.fraction}%`}));
return h("li",{key:g.key,...cs},h("button",{type:"button",class:g.state==="gone"?"tile gone":"tile","data-act":"tile","data-device":g.key,"data-bar":g.key,"aria-expanded":String(am),"aria-label":H},h("span",{class:"number"},l),h("span",{class:"load quiet"},g.state==="gone"?"gone":g.utilisation?.text),h("span",{class:"bar"},ae,!ae.length&&taken(g)),g.lines&&spark(linesIn(g.lines))))}
function linesIn({utilisation,memory,power}){return[{levels:utilisation,kind:"area"},{levels:memory,kind:"line"},{levels:power,kind:"dots"}]}
function tileWords(g){const holders=g.holders.map((j)=>[j.name,j.part,j.cell&&`cell ${j.cell}`,j.owner].filter(Boolean).join(" "));
const facts=[g.utilisation?.text,g.memory?.text,g.facts,between(g.lines?.utilisation),g.reason].filter(Boolean);
return`${[g.node,g.label].filter(Boolean).join(" ")}, ${g.state}${holders.length?`: ${holders.join("; ")}`:""}${facts.map((dw)=>`, ${dw}`).join("")}`}
const MOST_ROWS=8;
function drawDevices(b,a){if(!b.deviceTotal){return[empty(["No accelerator.",...b.found,"This counts two logical ones:"].join(" "),"nbaccel.init(num_gpus=2)")]}
if(b.deviceTotal<=MOST_ROWS)return[models(b),rows(b.devices,b,a)];
return[models(b),drawTiles(b,a),b.chosenDevice&&rows([b.chosenDevice],b,a)]}
function models({sameModel:d$,deviceTotal:an,devices:Z}){if(!d$)return null;
return h("p",{class:"quiet small models",key:"models"},`${an} × ${Z[0].model}`)}
function rows(Z,b,a){const b2=Z.some((g)=>g.utilisation||g.memory);
const bs=Z.some((g)=>g.node);
const af=b.sameModel;
const $=!b.ended&&Z.some((g)=>g.holders.length||g.reason);
const S=["Device",...(bs?["Node"]:[]),b.ended?"State":"In use",...(b2?["Load, memory, power"]:[]),...($?["Held by"]:[])];
return table("Devices",S,Z.map((g)=>row(g,{several:bs,measured:b2,said:af,held:$},b,a)))}
function row(g,{several:bs,measured:b2,said:af,held:$},b,a){return h("tr",{key:g.key,"data-device":g.label},h("th",{scope:"row",title:g.title||null},h("span",{class:"label"},g.label),!af&&h("span",{class:"quiet small model"},g.model)),bs&&h("td",{class:"quiet"},g.node),h("td",{class:"use"},!b.ended&&useBar(g),h("span",{class:"nowrap"},h("span",{class:"sign","aria-hidden":"true"},g.sign),` ${g.state}`)),b2&&h("td",{class:"load",title:g.facts},meter("utilisation",g,g.utilisation),meter("memory",g,g.memory),g.power&&meter("power",g,g.power)),$&&h("td",{class:"holders"},holders(g,b,a)))}
function useBar(g){const ae=g.holders.map((j)=>h("span",{key:j.key,class:`part c${j.colour}`,style:`width:${100*j.fraction}%`}));
return h("div",{class:"bar",role:"img","aria-label":`${g.label}: ${g.use}`,title:g.use},ae,!ae.length&&taken(g))}
function meter(be,g,M){if(!M)return h("div",{class:"measure quiet small"},`${be} unknown`);
const aT=Math.min(100,Math.max(0,Math.round(M.percent)));
const e=`${g.label} ${be}`;
const at=g.lines?.[be];
const af={title:[be,between(at)].filter(Boolean).join(": ")};
const ag=at?spark([{levels:at,kind:be==="utilisation"?"area":"line"}]):h("span",{class:"part",style:`width:${aT}%`});
const cv=be==="power"?{role:"img","aria-label":`${e} ${M.text}`}:{role:"meter","aria-label":e,"aria-valuemin":"0","aria-valuemax":"100","aria-valuenow":aT,"aria-valuetext":M.text};
return h("div",{class:"measure",...af},be==="power"&&!at?null:h("div",{class:at?"trend":"bar",...cv},ag),h("span",{class:"small"},M.text))}
function holders(g,b,a){const list=g.holders.map((j)=>holderLine(j,g,b,a));
return[list.length>0&&h("ul",{},list),g.reason&&h("span",{class:"quiet"},g.reason)]}
function holderLine(j,g,b,a){const bU=[j.cell&&`cell ${j.cell}`,j.owner].filter(Boolean).join(" of ");
const facts=[j.part,bU,j.age].filter(Boolean).join(" · ");
return h("li",{key:j.key,title:j.pid},h("span",{class:`swatch c${j.colour}`,"aria-hidden":"true"}),h("span",{class:"who"},nameOf(j.name),h("span",{class:"quiet facts"},facts)),(j.taskId||j.actorId)&&stop(j,g,a))}
function stop(j,g,a){const al=j.taskId?"cancel":"kill";
return endButton(al,{id:j.taskId||j.actorId,name:j.name,owner:j.owner},`on ${g.label}`,a)}
const WAITING_SHOWN=3;
const ALERTS_SHOWN=2;
function drawListed(b,a){const aK=[...b.alerts].sort((N,I)=>Number(I.kind==="failed")-Number(N.kind==="failed")).slice(0,ALERTS_SHOWN);
const aB=new Set(aK.map((O)=>O.never));
const a0=b.nodes.filter((f)=>f.moves).map((f)=>h("li",{key:f.key},sign(f.sign),nameOf(f.name),` ${f.state} `,h("span",{class:"quiet"},f.why)));
const af=aK.map((O)=>h("li",{key:O.key},h("strong",{},"⚠ Attention:"),` ${O.message}`));
return[...drawDevices(b,a),...(b.runs?.brief(a)??[]),list("lines","Nodes that come and go",a0),list("lines","Waiting tasks",b.ended?[]:waiting(b,aB)),list("alerts","Alerts",[...af,...more(b.alerts.length-af.length,"alerts")])]}
function waiting(b,aB){const u=alike(b.waiting);
const da=u.filter(({ids:bl})=>!bl.some((A)=>aB.has(A)));
const ab=da.slice(0,WAITING_SHOWN);
const aa=ab.map(({task:d,number:l})=>h("li",{key:d.id},sign("◌"),l>1&&`× ${l} `,nameOf(d.name),` waits ${d.age}: `,h("span",{class:"quiet"},d.why||d.asks)));
const m=u.filter((ap)=>!da.includes(ap)||ab.includes(ap));
return[...aa,...more(b.counts.waiting-m.reduce((ai,{number:l})=>ai+l,0),"waiting")]}
function sign(dL){return h("span",{class:"sign","aria-hidden":"true"},`${dL} `)}
function more(l,R){return l>0?[h("li",{key:"more"},button(`and ${l} more`,{"data-act":"tab","data-tab":R}))]:[]}
function list(v,K,aa){return aa.length>0&&h("ul",{class:v,key:K,"aria-label":K},aa)}
function cancelMany(K,A,G,co,a){const bV=co?` ${co}`:"";
const aP={key:A,"data-id":A,"data-name":K+bV,"data-function":co,"data-state":G.state,"data-cell":G.cell,"data-text":G.text};
if(a.doubted!==A)return button(`${K}…`,{...aP,"data-act":"sure","aria-label":`${K}${bV}…`});
return h("span",{class:"ask nowrap",key:A},button("Keep",{...aP,key:"keep","data-act":"keep"})," ",button(K,{...aP,key:"do","data-act":"cancel-many",class:"urgent","aria-label":K+bV}))}
function drawWaiting(b,a){if(!b.counts.waiting)return[empty("Nothing waits. A task that finds no free device waits here, with the reason:","train.options(num_gpus=1).remote()")];
const bB=alike(b.waiting);
const rows=bB.map(({task:d,number:l})=>h("tr",{key:d.id,"data-task":d.id},nameCell(d,l),cell(d.asks,"nowrap"),whereCell(d.cell,a),cell(d.age,"short"),cell(d.why||h("span",{class:"quiet"},"asked for, not looked at yet"),"why"),cell(l>1?showAll(d,l):cancel(d,b,a),"acts")));
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
function drawNodes(b){const rows=b.nodes.map((f)=>h("tr",{key:f.key},h("th",{scope:"row"},h("span",{class:"name"},f.name)),stateCell(f.sign,f.state),cell(f.role),cell(f.resources),cell(f.why,"why")));
return[table("Nodes",["Node","State","Role","Resources","Why"],rows)]}
function drawTasks(b,a){a.order=b.tasks.map((d)=>d.id);
const rows=a.sort.column?b.tasks.map((d)=>({task:d,inGroup:false})):grouped(b.tasks,a.open);
const dE=b.tasksFound-b.tasks.length;
const ec=b.foundInAll?dE:b.taskTotal-b.taskRows;
return[filters(b,a),rows.length?tableOf(rows,b,a):nothingFound(b),ec>0&&moreLine(`${b.tasks.length} of ${b.foundInAll?b.tasksFound:b.taskTotal} tasks are here`,a)]}
function tableOf(rows,b,a){const bp=b.tasks.some((d)=>d.peak);
const S=[{name:"Task",sort:"task"},{name:"State",sort:"state"},{name:"Devices",sort:"devices"},"Cell",{name:"Started",sort:"started"},{name:"Took",sort:"took"},...(bp?["Peak"]:[]),""];
const{first:_,last:T,above:di,below:bx}=tasksInSight(rows,a.scrolled);
const ag=rows.slice(_,T).flatMap((row)=>{if("group"in row)return[groupRow(row.group,S.length,b,a)];
const c1=knownRow(row.task,row.inGroup,bp,S.length,b,a);
return a.log?.id===row.task.id?[...c1,logRow(a,S.length)]:c1});
return table("Tasks",S,[gap("above",di),...ag,gap("below",bx)].filter(Boolean),{rows:rows.length,sort:a.sort})}
function gap(bU,aq){return aq>0&&h("tr",{key:bU,class:"gap","aria-hidden":"true",style:`height:${Math.round(aq)}px`})}
function nothingFound(b){if(!b.taskTotal)return empty("No task yet. A remote function that is called makes one:","f.remote()");
return empty(b.foundInAll?"No task passes the filter.":"No task of these rows passes the filter.")}
function groupRow(ap,S,b,a){const{subject:aV,tasks:W,open:aH,done:aj,failed:dx,others:ay}=ap;
const cq=b.taskTotal>b.taskRows&&!b.foundInAll;
const V=(v,l)=>l>0&&h("span",{key:v,class:`part ${v}`,style:`width:${(100*l)/W.length}%`});
const H=[...(cq?[]:[`${aj} of ${W.length}`]),...ay,...(cq?["others are not here"]:[])];
return h("tr",{key:`group/${aV}`,class:"group","data-function":aV},h("th",{scope:"row",colspan:S},h("button",{type:"button",class:"opens","data-act":"group","data-function":aV,"aria-expanded":String(aH)},h("span",{"aria-hidden":"true"},aH?"▾ ":"▸ "),nameOf(aV)),!cq&&h("span",{class:"bar","aria-hidden":"true"},V(`c${W[0].colour}`,aj),V("failed",dx)),h("span",{class:"quiet"},H.map((D,t)=>[t>0&&" · ",D.endsWith(" failed")?h("span",{key:D,class:"state failed"},D):D]).flat()),!b.ended&&W.some((d)=>d.cancellable)&&cancelMany("Cancel all",`group/${aV}`,a.filter,aV,a)))}
function knownRow(d,b$,bp,S,b,a){const a7=[...Object.values(d),b$,S,b.ended,a.asked.has(d.id),a.doubted===d.id,a.log?.id===d.id].join("\n");
const m=a.rows.get(d.id);
if(m?.content===a7)return m.shape;
const row=taskRow(d,b$,bp,b,a);
const shape=d.why?[row,reasonRow(d,S)]:[row];
a.rows.set(d.id,{content:a7,shape});
return shape}
function reasonRow(d,S){return h("tr",{key:`why/${d.id}`,class:"reason"},h("td",{colspan:S},h("span",{class:"quiet",title:d.why},d.why)))}
function taskRow(d,b$,bp,b,a){const bx=[`#${d.short}`,d.pid&&`pid ${d.pid}`].filter(Boolean).join(" · ");
return h("tr",{key:d.id,"data-task":d.id,class:b$?"inner":null},h("th",{scope:"row"},nameOf(d.name),h("span",{class:"quiet small below"},bx)),stateCell(d.sign,d.state,d.colour),cell(d.devices||d.asks,d.devices?"nowrap":"quiet nowrap"),whereCell(d.cell,a),cell(d.started,"nowrap"),tookCell(d.took),bp&&cell(d.peak,"nowrap"),cell([cancel(d,b,a),d.retryable&&a.retries&&!b.ended&&endButton("retry",d,`#${d.short}`,a),logs(d,b,a)],"acts"))}
function tookCell(d9){const[bP,...cM]=d9.split(" · ");
return cell([bP,cM.length>0&&[" ",h("span",{class:"quiet small below"},cM.join(" · "))]].flat(),"short")}
function logs(d,b,a){if(d.state==="waiting"||b.ended)return null;
return button("Log",{"data-act":"logs","data-id":d.id,"data-name":d.name,"aria-expanded":String(a.log?.id===d.id),"aria-label":`Log of ${d.name} #${d.short}`})}
function filters(b,a){const{filter:G}=a;
const b4=(M,K,am)=>h("option",{key:M||"all",value:M,selected:M===am},K);
return h("div",{class:"filters",role:"group","aria-label":"Filter tasks",key:"filters"},h("label",{},"State ",h("select",{"data-filter":"state",value:G.state},b4("","all",G.state),STATES.map((U)=>b4(U,`${U} (${b.counts[U]??0})`,G.state)))),h("label",{},"Cell ",h("select",{"data-filter":"cell",value:G.cell},b4("","all",G.cell),b.cells.map((e)=>b4(e,e,G.cell)))),h("label",{},"Text ",h("input",{type:"search","data-filter":"text",value:G.text,placeholder:"name, id, reason"})),(G.state||G.cell||G.text)&&!b.ended&&b.tasks.some((d)=>d.cancellable)&&cancelMany("Cancel all of these","these",G,"",a),!b.ended&&button("Notify me",{"data-act":"notices",class:"aside","aria-pressed":String(a.notices),title:"A notice of the browser when a task of more than a minute ends or fails"}),a.sort.column&&button("In the usual order",{"data-act":"sort","data-column":""}))}
const VIEWS={devices:drawDevices,waiting:drawWaiting,tasks:drawTasks,actors:drawActors,timeline:(b,a)=>b.pastViews?.drawTimeline(b,a)??loading(b),accounting:(b)=>(b.accounts?b.pastViews?.drawAccounts(b):null)??loading(b),alerts:drawAlerts,nodes:drawNodes,runs:(b,a)=>b.runs?.draw(a)??[]};
function drawFrame(b,a){const by=a.details?[tabs(b,a),panel(b,a)]:a.listed?drawListed(b,a):drawCard(b,a);
return[header(b,a),...by,h("p",{class:"said",key:"said",role:"status","aria-live":"polite"},a.said)]}
function drawOnly(b,a){const ab=b.runs?.only(a).flat()??[];
return[...(ab.length?ab:drawEmpty("Waiting for news of it …")),h("p",{class:"said",key:"said",role:"status","aria-live":"polite"},a.said)]}
function drawEmpty(H){return[h("p",{class:"quiet",key:"none"},H)]}
function loading(b){return[empty(b.ended?"This view was not opened before the end.":"Asking the kernel …")]}
function header(b,a){return h("header",{key:"header"},h("div",{class:"line top"},firstLine(b),b.ended&&h("span",{class:"chip"},b.ended),b.alerts.length>0&&h("button",{type:"button",class:"chip urgent","data-act":"tab","data-tab":"alerts"},h("span",{"aria-hidden":"true"},"⚠ "),count(b.alerts.length,"alert")),h("button",{type:"button","data-act":"details","aria-expanded":String(a.details),class:"aside"},"Details",h("span",{"aria-hidden":"true"},a.details?" ▴":" ▾"))),h("div",{class:"one-line quiet",title:b.title.join(" · ")},h("span",{class:"has"},secondLine(b,a).join(" · "))))}
function secondLine(b,a){if(!b.resources.length)return b.title;
return a.details||a.listed?b.resources:[...b.resources,...b.unrealDevices]}
function firstLine(b){const J=Object.entries(b.counts).filter(([,l])=>l);
const ae=[...b.busy.map((H)=>h("strong",{key:H},H)),...J.map(([U,l])=>button(`${l} ${U}`,{key:U,class:`count ${U}`,"data-act":"count","data-state":U,title:`Show the ${U} tasks`}))];
const af=ae.flatMap((V,x)=>(x?[h("span",{key:`dot${x}`,class:"quiet dot"}," · "),V]:[V]));
return h("span",{class:"first",title:b.title.join(" · ")},af,!J.length&&[af.length>0&&h("span",{class:"quiet dot"}," · "),h("span",{class:"quiet"},"no task yet")])}
function tabs(b,a){return h("div",{class:"tabs",role:"tablist","aria-label":"Views",key:"tabs"},b.tabs.map((R)=>{const am=R.id===a.tab;
return h("button",{type:"button",key:R.id,role:"tab",id:`${a.id}-${R.id}`,"aria-selected":String(am),"aria-controls":`${a.id}-panel`,tabindex:am?"0":"-1","data-act":"tab","data-tab":R.id},R.urgent&&h("span",{"aria-hidden":"true"},"⚠ "),R.label,R.badge>0&&h("span",{class:R.failed?"badge failed":"badge",title:R.failed?"failed":null},String(R.badge)))}))}
function panel(b,a){const r=VIEWS[a.tab]??drawDevices;
return h("div",{role:"tabpanel",id:`${a.id}-panel`,"aria-labelledby":`${a.id}-${a.tab}`,tabindex:"-1",key:`panel-${a.tab}`,class:"panel"},...r(b,a).flat())}
const LONG_ID=20;
function deviceLabels(rows){const v=(row)=>`${row.node_id??""}/${row.resource}`;
const taken=new Set(rows.filter((row)=>!row.parent).map((row)=>`${v(row)}/${row.id}`));
const cE=new Map();
const bD=new Map();
for(const row of rows){if(!row.parent){bD.set(row,`${plain(row.resource)} ${short(row.id)}`);
continue}
const y=`${v(row)}/${row.parent}`;
const cd=cE.get(y)??{number:firstFree(v(row),taken),instances:0};
cE.set(y,cd);
const dV=row.profile?` (${plain(row.profile)})`:"";
bD.set(row,`${plain(row.resource)} ${cd.number} · MIG ${cd.instances++}${dV}`)}
return bD}
function firstFree(v,taken){let l=0;
while(taken.has(`${v}/${l}`))l+=1;
taken.add(`${v}/${l}`);
return l}
function short(A){return plain(A).length>LONG_ID?`${plain(A).slice(0,12)}…`:plain(A)}
function unrealDevices(rows){return["logical","simulated"].flatMap((v)=>{const l=rows.filter((row)=>row.kind===v).length;
return l?[count(l,`${v} device`)]:[]})}
function modelWords(row){const[e,v]=[plain(row.name||row.type||row.family),row.kind??"real"];
return[e.startsWith(`${v} `)?e.slice(v.length+1):e,!row.parent&&plain(row.profile),v!=="real"&&`(${v})`].filter(Boolean).join(" ")}
function goneNodes(c){return new Set((c.nodes??[]).filter((f)=>f.alive===false).map((f)=>f.node_id))}
function whereItIs(row,a9){return a9.has(row.node_id??"")?{...row,holders:[],gone:true,free_reason:"its node has gone"}:row}
const MOST_TILES=128;
const LINES_BEYOND=1;
function devicesOf(c,k,C){const a9=goneNodes(c);
const u=(c.devices??[]).map((row)=>whereItIs(row,a9));
const rows=u.filter((row)=>row.offered!==false);
const bs=new Set(rows.map((row)=>row.node_id)).size>1;
const a1=new Map((c.nodes??[]).map((f)=>[f.node_id,plain(f.name)]));
const r=(row)=>({...deviceView(row,bD.get(row)??"",bs?(a1.get(row.node_id??"")??row.node_id?.slice(0,8)??""):"",c,k),lines:row.metrics?linesOf(C?.past?.readings?.data,row):null});
const{first:_,last:T}=tilesInSight(rows.length,C?.tiles);
const ag=rows.slice(_,T);
const am=C?.device?rows.find((row)=>deviceKey(row)===C.device):null;
const bD=deviceLabels(rows.some((row)=>row.parent)?u:am?[...ag,am]:ag);
return{devices:C?ag.map(r):[],devicesBefore:_,deviceTotal:rows.length,unrealDevices:unrealDevices(rows),sameModel:rows.length>1&&new Set(rows.map(modelOf)).size===1,chosenDevice:am?r(am):null,heldBy:heldBy(rows,c),devicesFree:rows.filter((row)=>!row.holders?.length&&!row.free_reason).length,devicesTaken:rows.filter((row)=>!row.holders?.length&&row.free_reason&&!row.gone).length}}
function tilesInSight(X,d3={top:0,height:460,row:40,columns:20}){if(X<=MOST_TILES)return{first:0,last:X};
const{top:aW,height:aq,row,columns:S}=d3;
const T=Math.min(X,S*(Math.ceil((aW+aq)/row)+LINES_BEYOND));
return{first:Math.max(0,Math.min(Math.floor(aW/row)-LINES_BEYOND,Math.floor(X/S)))*S,last:T}}
function heldBy(rows,c){const cn=new Map();
for(const row of rows){for(const j of row.holders??[]){const m=cn.get(j.name)??{number:0,share:0,first:j};
m.number+=1;
m.share+=Math.min(1,j.amount??1);
cn.set(j.name,m)}}
const u=[...cn].sort((N,I)=>I[1].number-N[1].number);
return u.map(([e,{number:l,share:bc,first:_}])=>({name:plain(e),number:l,share:bc,colour:colourOf(c,_.function||e)}))}
function deviceKey(row){return`${row.node_id??""}/${row.resource}/${row.id}`}
function modelOf(row){return`${row.name||row.type||row.family}·${row.parent?"":(row.profile??"")}·${row.kind??"real"}`}
function deviceView(row,K,f,c,k){const[sign,a]=deviceState(row);
const holders=holderViews(row.holders??[],c,k);
return{key:deviceKey(row),label:K,title:row.parent?plain(row.id):"",node:f,model:modelWords(row),sign,state:a,use:useWords(holders),utilisation:utilisation(row),memory:memory(row),power:power(row),facts:facts(row),reason:plain(row.free_reason),holders}}
function deviceState(row){const $=row.holders?.length;
if(row.over)return["–","given back"];
if(row.gone)return["✕","gone"];
if(row.free_reason&&!$)return["◼","taken"];
if(!$)return["○","free"];
return(row.free??1)>0?["◐","shared"]:["●","held"]}
function holderViews(holders,c,k){const bl=holders.map((j)=>j.task_id??j.actor_id??j.name);
return holders.map((j,x)=>({key:bl[x],name:plain(j.name),part:(j.amount??1)===1?"":amount(j.amount??1),cell:plain(j.cell),owner:ownerOf(c,j),age:j.since?age(k-j.since):"",pid:j.pid?`pid ${j.pid}`:"",colour:colourOf(c,j.function||j.name,j.actor_id??bl[x]),fraction:Math.min(1,Math.max(0,j.amount??1)),taskId:j.task_id??"",actorId:j.task_id?"":(j.actor_id??"")}))}
function useWords(holders){if(!holders.length)return"nobody holds it";
return holders.map((j)=>`${j.name} ${j.part||"1"}`).join(", ")}
function utilisation(row){const aT=row.metrics?.utilisation_percent;
return aT==null?null:{percent:aT,text:`${Math.round(aT)} %`}}
function memory(row){const cB=row.metrics?.memory_used_bytes;
const X=row.metrics?.memory_total_bytes??row.memory_bytes;
if(cB==null||!X)return null;
return{percent:(100*cB)/X,text:`${size(cB)} of ${size(X)}`}}
function power(row){const dd=row.metrics?.power_watts;
return dd==null?null:{percent:0,text:`${Math.round(dd)} W`}}
function facts(row){const ae=[];
if(row.metrics?.temperature_celsius!=null)ae.push(`${Math.round(row.metrics.temperature_celsius)} °C`);
if(row.metrics?.power_watts!=null)ae.push(`${Math.round(row.metrics.power_watts)} W`);
return ae.join(" · ")}
function afterEnd(c){const{shared:bt}=c.runtime;
const ci=(a)=>(ENDED.has(a)?a:"ENDED_WITH_IT");
const W=(c.tasks??[]).map((row)=>({...row,state:ci(row.state),reason:ENDED.has(row.state)?row.reason:null}));
const J={};
for(const[a,l]of Object.entries(c.counts??{}))J[ci(a)]=(J[ci(a)]??0)+l;
if(bt)delete J.ENDED_WITH_IT;
return{...c,devices:(c.devices??[]).map((row)=>({...row,holders:[],free_reason:"",metrics:null,over:true})),tasks:bt?W.filter((row)=>ENDED.has(row.state)):W,counts:J,actors:(c.actors??[]).map((row)=>({...row,state:"DEAD",pending_calls:0})),actor_counts:{}}}
const ALERTS={infeasible:"Can never start",leak:"Memory leak"};
const HIDDEN_RESOURCES=/^(node:|accelerator_type:|bundle_)|^(memory|object_store_memory)$|_group_/;
const BY_STATE={column:"",down:false};
const NO_FILTER={state:"",cell:"",text:""};
function sceneOf(ah,C,k){const ak=ah.lost?"the kernel has gone":!ah.ended?"":ah.runtime.shared?"left":"shut down";
const c=ak?afterEnd(ah):ah;
const J=taskCounts(c);
const R=C.tab;
const bb=c.runs?.(k,ak!=="",c);
const W=R==="tasks"?tasksOf(c,C,k):[];
return{title:titleOf(c),ended:ak,endedAt:ak&&`${ah.lost?"This was known":ah.runtime.shared?"Left":"Shut down"} at ${clock(ah.time??k,k)}.`,counts:J,busy:ak?[]:busyOf(c),resources:ak?resourcesOf(c,true):besideOf(c),tabs:tabsOf(c,J,bb),...devicesOf(c,k,R==="devices"?C:null),found:(c.found??[]).map(plain),waiting:waitingViews(c,k),tasks:W,tasksFound:C.found?.total??W.length,foundInAll:Boolean(C.found),taskRows:(c.tasks??[]).length,taskTotal:Object.values(J).reduce((ai,l)=>ai+l,0),cells:R==="tasks"?cellsOf(c):[],actors:R==="actors"?actorViews(c,k):[],actorsMore:actorsMore(c),runs:bb,pastViews:c.past,timeline:R==="timeline"&&c.past?c.past.timelineOf(c,C.window,k,C.range,C.past?.runs?.data):null,accounts:R==="accounting"&&c.past?c.past.accountsView(C.past?.accounting?.data,c,k):null,alerts:alertsOf(c,k),nodes:nodesOf(c,k)}}
function tasksOf(c,C,k){const ax=C.found;
const rows=ax?{...c,tasks:ax.tasks,reasons:ax.reasons}:c;
return ordered(taskViews(rows,ax?NO_FILTER:C.filter,k),C.sort??BY_STATE,C.held??null)}
function titleOf(c){const{engine:cf,version:ee,pid:bq,shared:bt}=c.runtime;
const cC=(c.nodes??[]).filter((f)=>f.alive!==false).length;
return["nbaccel "+plain(ee),`${plain(cf)} engine`,cC>1?count(cC,"node"):"",bq?`head pid ${bq}`:"",bt?"shared by several notebooks":""].filter(Boolean)}
function busyOf(c){const ba=new Map();
const a9=goneNodes(c);
for(const row of c.devices??[]){if(row.offered===false||a9.has(row.node_id??""))continue;
const v=ba.get(row.resource)??{held:0,all:0};
v.all+=1;
if(row.holders?.length||row.free_reason)v.held+=1;
ba.set(row.resource,v)}
if(ba.size)return[...ba].map(([e,{held:$,all:u}])=>`${$} of ${count(u,plain(e))} busy`);
const ai=(of)=>(c.nodes??[]).reduce((u,f)=>u+(f.alive===false?0:(f[of]?.CPU??0)),0);
return ai("totals")?[`${amount(ai("totals")-ai("available"))} of ${amount(ai("totals"))} CPUs busy`]:[]}
function besideOf(c){const rows=(c.devices??[]).filter((row)=>row.offered!==false);
const ba=new Set(rows.length?rows.map((row)=>row.resource):["CPU"]);
const ay=[...sumsOf(c)].filter(([e])=>!ba.has(e)).map(([e,[bA,u]])=>`${amount(u-bA)} of ${count(+amount(u),plain(e))} busy`);
const a9=goneNodes(c);
const bt=[...ba].map((v)=>{const ar=rows.reduce((ai,row)=>ai+(row.resource===v&&row.holders?.length&&!a9.has(row.node_id??"")?(row.free??1):0),0);
return ar>0?`${amount(ar)} ${plain(v)} free on shared ones`:""});
return[...ay,...bt.filter(Boolean)]}
function resourcesOf(c,ak){return[...sumsOf(c)].map(([e,[bA,u]])=>`${plain(e)} ${ak?amount(u):`${amount(bA)} of ${amount(u)} free`}`)}
function sumsOf(c){const cx=new Map();
for(const f of c.nodes??[]){for(const[e,X]of f.alive===false?[]:Object.entries(f.totals??{})){if(HIDDEN_RESOURCES.test(e))continue;
const[bA,u]=cx.get(e)??[0,0];
cx.set(e,[bA+(f.available?.[e]??0),u+X])}}
return cx}
function tabsOf(c,J,bb){const aK=(c.alerts??[]).length;
const dj=(c.actors??[]).filter((row)=>row.state!=="DEAD").length+actorsMore(c);
const tabs=[{id:"devices",label:"Devices",badge:0,urgent:false},{id:"waiting",label:"Waiting",badge:J.waiting,urgent:false},{id:"tasks",label:"Tasks",badge:J.failed,urgent:false,failed:true},{id:"actors",label:"Actors",badge:dj,urgent:false},{id:"timeline",label:"Timeline",badge:0,urgent:false},{id:"accounting",label:"Accounting",badge:0,urgent:false},{id:"alerts",label:"Alerts",badge:aK,urgent:aK>0}];
if(bb)tabs.push({id:"runs",label:"Runs",badge:bb.active,urgent:false});
if((c.nodes??[]).length>1||c.arrivals?.length)tabs.push({id:"nodes",label:"Nodes",badge:0,urgent:false});
return tabs}
function actorsMore(c){const ab=(c.actors??[]).filter((row)=>row.state!=="DEAD").length;
const u=Object.entries(c.actor_counts??{}).filter(([a])=>a!=="DEAD");
return Math.max(0,u.reduce((ai,[,l])=>ai+l,0)-ab)}
function alertsOf(c,k){return(c.alerts??[]).map((O,x)=>({key:`${O.since}/${x}`,kind:O.kind,title:ALERTS[O.kind]??plain(O.kind[0].toUpperCase()+O.kind.slice(1)),message:plain(O.message),age:age(k-O.since),never:(O.kind==="infeasible"&&O.task_id)||"-"})).reverse()}
function nodesOf(c,k){const dD=(c.nodes??[]).map((f)=>({key:f.node_id,name:plain(f.name),sign:f.alive===false?"✕":"●",state:f.alive===false?"gone":"alive",role:f.is_head?"head":"",resources:resourcesOf({...c,nodes:[f]},Boolean(c.ended)).join(" · "),why:plain(f.why)||whyOfNode(f,k),moves:(f.leaves_at??0)>k}));
const dn=(c.arrivals??[]).map((D)=>({key:D.id,name:plain(D.node_type),sign:"◌",state:"arriving",role:"",resources:"",moves:true,why:`for ${duration(k-(D.since??k))}${D.usually_s?` (usually ${duration(D.usually_s)})`:""}${["","arriving"].includes(D.state??"")?"":`: ${plain(D.state)}`}`}));
return[...dD,...dn]}
function whyOfNode(f,k){if(f.kept_by)return`stays: ${plain(f.kept_by)}`;
if(!f.leaves_at||!f.idle_since)return"";
const ar=f.leaves_at-k;
return`idle for ${duration(k-f.idle_since)}, ${ar>0?`leaves in ${duration(ar)}`:"kept for a request or its type's min"}`}
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
function watchVisibility(P,ad){const w=P.ownerDocument;
const df=w.defaultView??window;
let cX=false;
let T=null;
const aG=(aZ=false)=>{const a4=cX&&!aZ&&w.visibilityState!=="hidden";
if(a4!==T){T=a4;
ad(a4,aZ)}else if(aZ)ad(false,true)};
const bG=new IntersectionObserver((cL)=>{cX=cL[cL.length-1].isIntersecting;
aG()});
const c7=()=>aG();
const aZ=()=>aG(true);
bG.observe(P);
w.addEventListener("visibilitychange",c7);
df.addEventListener("pagehide",aZ);
return()=>{bG.disconnect();
w.removeEventListener("visibilitychange",c7);
df.removeEventListener("pagehide",aZ);
aG(true)}}
const MORE_ROWS=1000;
function mount(place,L,cZ={}){const w=place.ownerDocument;
const i=w.createElement("div");
const bv=w.createElement("style");
bv.textContent=STYLE;
i.className="nbaccel-cockpit";
i.dataset.lmSuppressShortcuts="true";
place.append(bv,i);
const a=cZ.state??newState(cZ.details??false);
a.goes=(cell)=>Boolean(L.go)||isHere(i,cell);
a.retries=Boolean(L.retries);
const clock=kernelClock();
let a4=false;
const bm={running:(new Set())};
let waiting=0;
const az=()=>{waiting=0;
const c=L.snapshot();
const cO=i.contains(w.activeElement)?w.activeElement:null;
if(i.clientWidth)a.room=i.clientWidth-30;
if(!c)draw(i,drawEmpty("Waiting for the first snapshot of the cluster …"));
else drawSnapshot(i,c,a,c.ended?(c.time??0):clock.now());
if(cO&&!cO.isConnected)refocus(i,a)};
const bM=()=>{if(a4&&!waiting)waiting=requestAnimationFrame(az)};
const cD=()=>{const c=L.snapshot();
if(c?.time)clock.heard(c.time);
forget(a,c);
if(a4&&!c?.ended)aG();
const aB=c?endings(bm,c):[];
if(a.notices)notify(w.defaultView,aB);
bM()};
const bL=(k,aZ=false)=>{a4=k;
const bE=k||(a.notices&&!aZ);
L.send({say:bE?"visible":"hidden",view:a.id,rows:k&&a.wide?MORE_ROWS:0});
if(k)bC.look();
else bC.end();
bM()};
const cN=finder(L,a);
const bC=historian(L,a,clock.now);
const aG=()=>{cN.find();
bC.look()};
const a8=[cN.end,bC.end,L.subscribe(cD),actions(i,L,a,{redraw:bM,more:()=>bL(a4),look:aG,recall:bC.heard,now:clock.now}),watchRows(i,a,bM),watchVisibility(i,bL)];
const d7=setInterval(bM,1000);
cD();
az();
return()=>{clearInterval(d7);
if(waiting)cancelAnimationFrame(waiting);
for(const ao of a8)ao();
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
const a$=new Set((c.actors??[]).filter((row)=>row.state!=="DEAD").map((row)=>row.actor_id));
for(const row of c.tasks??[])if(!ENDED.has(row.state))a$.add(row.task_id);
for(const A of a.asked)if(!a$.has(A))a.asked.delete(A)}
function refocus(i,a){const dN=i.querySelector('[data-act="keep"]')??i.querySelector(a.details?'[role="tab"][aria-selected="true"]':'[data-act="details"]');
(dN)?.focus({preventScroll:true})}
function unpacked(ah){return{...ah,devices:rowsOf(ah.devices),tasks:rowsOf(ah.tasks)}}
function rowsOf(table){if(!table||Array.isArray(table))return table??[];
const rows=Array.from({length:table.rows},()=>({...(table.same)}));
const bj=(e,ed)=>rows.forEach((row,x)=>{const M=ed(x);
if(M!=null)row[e]=M});
for(const[e,bR]of Object.entries(table.each??{}))bj(e,(x)=>bR[x]);
for(const[e,[dt,cs]]of Object.entries(table.of??{}))bj(e,(x)=>dt[cs[x]]);
for(const[e,ch]of Object.entries(table.within??{})){const bR=rowsOf(ch);
bj(e,(x)=>bR[x])}
for(const[e,{sizes:d4,rows:ch}]of Object.entries(table.lists??{})){const bR=rowsOf(ch);
bj(e,(x)=>bR.splice(0,d4[x]))}
return rows}
function takePlaces(w,e,d1){const taken=new Map();
const c4=(place)=>{if(!taken.has((place)))taken.set((place),d1((place)))};
const c5=(f)=>{if(f.nodeType!==1)return;
const P=(f);
if(P.classList.contains(e))c4(P);
for(const place of P.getElementsByClassName(e))c4(place)};
const bG=new MutationObserver((dZ)=>{for(const[place,cj]of taken){if(place.isConnected)continue;
taken.delete(place);
cj()}
for(const bJ of dZ)for(const f of bJ.addedNodes)if(f.isConnected)c5(f)});
bG.observe(w,{childList:true,subtree:true});
c5(w.documentElement);
return()=>{bG.disconnect();
for(const cj of taken.values())cj()}}
function cover(place,bj){const c0=([...place.children]);
const a$=place.ownerDocument.createElement("div");
for(const D of c0)D.style.display="none";
place.append(a$);
const ao=bj(a$);
return()=>{ao();
a$.remove();
for(const D of c0)D.style.display=""}}
const PARTS={h,button,cell,empty,nameOf,table,rowsOf,PALETTE,age,amount,clock,count,demandWords,deviceWords,duration,hostWords,plain,stateWord,colourOf,subjectOf,deviceLabels,laneName,cellWords,LAST_MINUTE,WHOLE_RUN,inSight};
function loadedFrom(F,ea,ad){let C=false;
let cT=null;
return()=>{const bh=F.get(ea);
if(bh&&!C){C=true;
import(URL.createObjectURL(new Blob([bh],{type:"text/javascript"}))).then((cl)=>{cT=cl.default(PARTS);
ad()})}
return cT}}
function pastOf(F,ad){return loadedFrom(F,"past_code",ad)}
function runsOf(F,ad){const cl=loadedFrom(F,"runs_code",ad);
let q="";
let r=null;
return()=>{const[cJ,k]=[cl(),F.get("runs")];
if(cJ&&k!==q)r=cJ(JSON.parse((q=k)));
return r}}
const OF="nbaccel-of-";
function sourceOf(F){let q="";
let cp=null;
let ck=false;
let cy=()=>{};
const bb=runsOf(F,()=>cy());
const bo=pastOf(F,()=>cy());
return{snapshot(){const k=F.get("snapshot");
if(k!==q){q=k;
cp=k?unpacked(JSON.parse(k)):null}
const ab=cp&&{...cp,runs:bb(),past:bo()};
return ck&&ab?{...ab,ended:true,lost:ck}:ab},subscribe(ad){const c9=()=>{ck=true;
ad()};
cy=ad;
F.on("change:snapshot",ad);
F.on("change:runs",ad);
F.on("change:past_code",ad);
F.on("comm_live_update",c9);
return()=>{F.off("change:snapshot",ad);
F.off("change:runs",ad);
F.off("change:past_code",ad);
F.off("comm_live_update",c9)}},listen(bk){F.on("msg:custom",bk);
return()=>F.off("msg:custom",bk)},send:(E)=>F.send(E),retries:true}}
function render({model:F,el:du}){return mount(du,sourceOf(F),{state:newState(Boolean(F.get("details")))})}
function initialize({model:F}){const c2=new WeakMap();
return takePlaces(document,F.get("place"),(place)=>{const a=c2.get(place)??newState(place.classList.contains("nbaccel-details"));
a.only=[...place.classList].find((e)=>e.startsWith(OF))?.slice(OF.length)??"";
c2.set(place,a);
return cover(place,(a$)=>mount(a$,sourceOf(F),{state:a}))})}
export default{initialize,render};
