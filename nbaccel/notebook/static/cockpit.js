// nbaccel's cockpit, joined from nbaccel/notebook/cockpit/ by tools/join_cockpit.py. Change it there.
function copyText(s,p){const cy=s.defaultView?.navigator.clipboard;
if(cy)cy.writeText(p).catch(()=>copySelected(s,p));
else copySelected(s,p)}
function copySelected(s,p){const aB=s.createElement("textarea");
aB.value=p;
aB.style.position="fixed";
s.body.append(aB);
aB.select();
s.execCommand("copy");
aB.remove()}
const STEP=0.8;
function isHere(f,F){return F.startsWith("[")&&Boolean(f.closest(".jp-Notebook"))}
async function dN(f,F,ac){const bQ=f.closest(".jp-Notebook");
const s=f.ownerDocument.defaultView;
if(!bQ||!s)return;
const ch=F.split(" ")[0];
const ad=(p)=>[...bQ.querySelectorAll(".jp-InputPrompt")].find((N)=>N.textContent===`${p}:`)?.closest(".jp-Cell");
const bB=bQ.querySelector(".jp-WindowedPanel-outer")??bQ;
const B=bB.scrollTop;
let cell=ad(ch);
for(let cr=0;!cell&&cr<bB.scrollHeight;cr+=STEP*bB.clientHeight){bB.scrollTop=cr;
await new Promise((W)=>s.requestAnimationFrame(()=>s.requestAnimationFrame(W)));
cell=ad(ch)}
if(!cell)bB.scrollTop=B;
cell??=ad("[*]");
if(!cell)return ac(`No cell of this notebook is ${ch} any more.`);
cell.scrollIntoView({block:"center"});
(cell).focus({preventScroll:true})}
const SIZES=([[2**40,"TiB"],[2**30,"GiB"],[2**20,"MiB"],[2**10,"KiB"]]);
const ENDED=new Set(["FINISHED","FAILED","CANCELLED"]);
const RUNNING=new Set(["RUNNING","RUNNING_IN_RAY_GET","RUNNING_IN_RAY_WAIT","SUBMITTED_TO_WORKER"]);
function amount(bz){return String(Math.round(bz*10000)/10000)}
function size(bK){if(bK==null)return"unknown";
for(const[c$,O]of SIZES){if(bK>=c$){const C=bK/c$;
return`${C>=10||Number.isInteger(C)?Math.round(C):C.toFixed(1)} ${O}`}}
return`${bK} B`}
function age(ai){const aj=Math.max(0,Math.floor(ai));
const aZ=(n)=>String(n).padStart(2,"0");
if(aj<60)return`${aj} s`;
if(aj<3600)return`${Math.floor(aj/60)} min ${aZ(aj%60)} s`;
return`${Math.floor(aj/3600)} h ${aZ(Math.floor((aj%3600)/60))} min`}
function duration(ai){return ai<9.95?`${Math.max(0,ai).toFixed(1)} s`:age(ai)}
function clock(bE,j){const D=new Date(bE*1000);
const aZ=(n)=>String(n).padStart(2,"0");
const[de,cz]=[`${aZ(D.getMonth()+1)}-${aZ(D.getDate())}`,`${aZ(D.getHours())}:${aZ(D.getMinutes())}`];
return D.toDateString()===new Date(j*1000).toDateString()?`${cz}:${aZ(D.getSeconds())}`:`${de} ${cz}`}
function plain(p){return(p??"").replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,(db)=>`\\u${db.charCodeAt(0).toString(16).padStart(4,"0")}`)}
function count(n,cc){return n===1||cc.endsWith("s")?`${n} ${cc}`:`${n} ${cc}s`}
function demandWords(df){const Y=Object.entries(df??{}).filter(([,bz])=>bz);
return Y.map(([g,bz])=>`${amount(bz)} ${plain(g)}`).join(", ")||"nothing"}
function deviceWords(bf){return Object.entries(bf??{}).filter(([,aM])=>aM.length).map(([g,aM])=>`${plain(g)} ${aM.map(plain).join(", ")}`).join("; ")}
function shortId(u){const dz=u.length===48&&u.startsWith("000000",24);
if(dz)return`${u.slice(0,4)}-${parseInt(u.slice(30,40),16)}`;
return u.startsWith("f".repeat(16))?u.slice(16,28):u.slice(0,12)}
function stateWord(a){if(RUNNING.has(a))return"running";
if(a.startsWith("PENDING"))return"waiting";
return a.toLowerCase().replaceAll("_"," ")}
function stateSign(O){return{running:"●",waiting:"◌",finished:"✓",failed:"✕",cancelled:"⊘","ended with it":"–",alive:"●",dead:"✕"}[O]??"◌"}
function ownerOf(b,row){if(!row.job||row.job===b.runtime.job||!b.jobs?.length)return"";
return plain(b.jobs.find((dv)=>dv.number===row.job)?.name??`job ${row.job}`)}
function cellWords(b,row){return[ownerOf(b,row),plain(row.cell)].filter(Boolean).join(" ")}
const LONG_S=60;
const MOST_RUNNING=10_000;
function endings(bg,b){const az=[];
if(bg.running.size>MOST_RUNNING)bg.running.clear();
for(const row of b.tasks??[]){if(!ENDED.has(row.state)){if(row.started_at!=null&&!ownerOf(b,row))bg.running.add(row.task_id);
continue}
if(!bg.running.delete(row.task_id)||row.started_at==null)continue;
const ai=(row.finished_at??b.time??0)-row.started_at;
if(ai<LONG_S)continue;
const bn=row.reason==null?row.why:b.reasons?.[row.reason];
const cq=`${plain(row.name)} #${shortId(row.task_id)} ${{FINISHED:"has finished",FAILED:"has failed"}[row.state]??`was ${stateWord(row.state)}`}`;
az.push({id:row.task_id,title:cq,body:[`after ${age(ai)}`,row.cell&&`cell ${plain(row.cell)}`,plain(bn)].filter(Boolean).join(" · ")})}
return az}
async function dV(s,a,ac){const bv=(s)?.Notification;
if(a.notices){a.notices=false;
ac("");
return}
if(!bv)return ac("This browser shows no notices.");
a.notices=(await bv.requestPermission())==="granted";
ac(a.notices?"The browser will tell you when a task of more than a minute ends or fails.":"The browser does not let this page show notices. Its settings for this site can change that.")}
function notify(s,az){const bv=(s)?.Notification;
if(!bv)return;
for(const{id:u,title:cq,body:br}of az)new bv(cq,{body:br,tag:`nbaccel-${u}`})}
const OFFERED="nbaccel-order";
function secondWay(f,H,x,ar){const bj=H.snapshot()?.runtime.pid;
const dA=new CustomEvent(OFFERED,{bubbles:true,cancelable:true,detail:{message:x,pid:bj,taken:ar}});
return!f.dispatchEvent(dA)}
const REGIONS=".scroll[data-sight]";
function watchRows(f,a,ag){const ay=(l)=>{const z=(l.target);
if(!z.matches?.(REGIONS))return;
note(z,a);
ag()};
const moved=(l)=>{const br=l.type==="pointerover"?(l.target).closest?.(`${REGIONS} tbody`):null;
const a3=(br?.closest(REGIONS)??null)?.dataset.sight??"";
if(a3===a.heldSight)return;
a.heldSight=a3;
ag()};
return listening(f,ay,moved)}
function listening(f,ay,moved){f.addEventListener("scroll",ay,true);
f.addEventListener("pointerover",moved);
f.addEventListener("pointerleave",moved);
return()=>{f.removeEventListener("scroll",ay,true);
f.removeEventListener("pointerover",moved);
f.removeEventListener("pointerleave",moved)}}
function measureRows(f,a){const dJ=([...f.querySelectorAll(REGIONS)]);
return dJ.map((z)=>note(z,a)).some(Boolean)}
function note(z,a){const g=z.dataset.sight??"";
const B=a.sights.get(g);
const rows=z.querySelectorAll("tbody tr:not(.gap)");
if(!rows.length)return false;
const be=(rows[rows.length-1].getBoundingClientRect().bottom-rows[0].getBoundingClientRect().top)/rows.length;
const E=B&&(be<8||Math.abs(be-B.row)<4);
a.sights.set(g,{top:z.scrollTop,height:Math.max(z.clientHeight,100),row:E?B.row:be});
return!E||Math.abs(B.top-z.scrollTop)>1}
const TASKS='.scroll[aria-label="Tasks"]';
function watchSight(f,a,ag){const ay=(l)=>{const z=(l.target);
if(a.log&&z.matches?.(".printed"))a.log.follow=z.scrollTop+z.clientHeight>z.scrollHeight-4;
if(!z.matches?.(TASKS))return;
a.scrolled={...a.scrolled,top:z.scrollTop,height:z.clientHeight};
ag()};
const moved=(l)=>{const a3=l.type==="pointerover"&&Boolean((l.target).closest?.(`${TASKS} tbody`));
if(a3===Boolean(a.held))return;
a.held=a3?a.order:null;
ag()};
return listening(f,ay,moved)}
function measure(f,a){const z=f.querySelector(TASKS);
const rows=z?.querySelectorAll("tr[data-task]");
if(!z||!rows?.length)return false;
const B=a.scrolled;
const an=(rows[0]).getBoundingClientRect();
const U=(rows[rows.length-1]).getBoundingClientRect();
const af=z.querySelector(".logrow")?.getBoundingClientRect().height??0;
const row=(U.bottom-an.top-(z.querySelector(".logrow ~ tr[data-task]")?af:0))/rows.length;
const E=row<8||Math.abs(row-B.row)<4;
a.scrolled={top:z.scrollTop,height:Math.max(z.clientHeight,100),row:E?B.row:row};
return!E||Math.abs(a.scrolled.top-B.top)>1}
const SAY_EVERY_MS=5000;
function speaker(a,t){let U=0;
let au;
return(F)=>{clearTimeout(au);
const bY=Math.max(0,U+SAY_EVERY_MS-Date.now());
au=setTimeout(()=>{U=Date.now();
a.said=F;
t.redraw()},a.said?bY:0)}}
const LEAST_S=0.05;
const LEAST_DRAG_PX=6;
const CARD_PX=246;
function zoomed({from,to:aY},bJ,place=0.5){const cH=Math.max(LEAST_S,(aY-from)*bJ);
const D=from+(aY-from)*place;
return{from:D-cH*place,to:D+cH*(1-place)}}
function moved({from,to:aY},dL){const bJ=(aY-from)*dL;
return{from:from+bJ,to:aY+bJ}}
function keyed(r,aE){if(r==="+"||r==="=")return{range:zoomed(aE,0.5)};
if(r==="-")return{range:zoomed(aE,2)};
if(r==="ArrowLeft")return{range:moved(aE,-0.2)};
if(r==="ArrowRight")return{range:moved(aE,0.2)};
return r==="0"||r==="Home"?{range:null}:null}
function placeOfCard(f,bq){const[a8,a$]=[f.getBoundingClientRect(),bq.getBoundingClientRect()];
const av=Math.max(8,Math.min(a$.left,a8.right-CARD_PX)-a8.left);
const b_=a$.top-a8.top<a8.height/2?`top:${a$.bottom-a8.top+4}px`:`bottom:${a8.bottom-a$.top+4}px`;
return`left:${Math.round(av)}px;max-width:${CARD_PX-16}px;${b_}`}
function watchZoom(f,a,Z,ag){let aI=null;
const cW=(l)=>(l.target).closest?.("svg.timeline");
const placeOf=(aF,d$)=>{const a$=aF.getBoundingClientRect();
const{width:d_,left:av,right:cj}=a.lanes;
return Math.min(1,Math.max(0,(((d$-a$.left)/a$.width)*d_-av)/(cj-av)))};
const c5=(l)=>{const aF=cW(l);
if(!aF||!(l.ctrlKey||l.metaKey))return;
l.preventDefault();
a.range=zoomed(Z(),l.deltaY>0?1.25:0.8,placeOf(aF,l.clientX));
ag(true)};
const pressed=(l)=>{const aF=cW(l);
aI=aF&&l.button===0?{x:l.clientX,place:placeOf(aF,l.clientX)}:null};
const cS=(l)=>{const aF=f.querySelector("svg.timeline");
if(!aI||!aF||Math.abs(l.clientX-aI.x)<LEAST_DRAG_PX)return void(aI=null);
const[av,cj]=[aI.place,placeOf(aF,l.clientX)].sort((K,L)=>K-L);
const{from,to:aY}=Z();
const aE={from:from+(aY-from)*av,to:from+(aY-from)*cj};
if(aE.to-aE.from>=LEAST_S)a.range=aE;
aI=null;
ag(true)};
const bM=(l)=>{const bq=l.type==="pointerover"?((l.target).closest?.("[data-bar]"))?.dataset.bar??"":"";
if(bq===a.hover.bar)return;
a.hover={bar:bq,style:bq&&placeOfCard(f,(l.target))};
ag(false)};
const r=(l)=>{const dB=(l.target).matches?.('.scroll[aria-label="Timeline"]');
const W=dB&&!l.ctrlKey&&!l.metaKey?keyed(l.key,Z()):null;
if(!W)return;
a.range=W.range;
l.preventDefault();
ag(true)};
f.addEventListener("wheel",c5,{passive:false});
f.addEventListener("pointerdown",pressed);
f.addEventListener("pointerup",cS);
f.addEventListener("pointerover",bM);
f.addEventListener("pointerleave",bM);
const am=()=>{f.removeEventListener("wheel",c5);
f.removeEventListener("pointerdown",pressed);
f.removeEventListener("pointerup",cS);
f.removeEventListener("pointerover",bM);
f.removeEventListener("pointerleave",bM)};
return{key:r,end:am}}
const TAKEN_WITHIN_MS=1500;
function actions(f,H,a,t){const bG=new Map();
const ac=speaker(a,t);
const bx=(x,g)=>{a.doubted="";
H.send(x);
a.asked.add(x.id);
clearTimeout(bG.get(x.id));
bG.set(x.id,setTimeout(()=>{if(x.say!=="retry"&&secondWay(f,H,x,ac))return;
ac(`The kernel is busy and takes messages only between cells: ${g} is told when the running cell ends. To end the cell itself, use Stop.`)},TAKEN_WITHIN_MS));
t.redraw()};
const a7={cancel:(m)=>bx({say:"cancel",id:m.id},`${m.name}`),retry:(m)=>bx({say:"retry",id:m.id},`${m.name}`),kill:(m)=>bx({say:"kill",id:m.id},`${m.name}`),"cancel-run":(m)=>bx({say:"stop",id:m.id},`${m.name}`),doubt(m){a.doubted=m.id??"";
ac(`${m.name} belongs to ${m.owner}, not to this notebook.`)},notices:()=>void dV(f.ownerDocument.defaultView,a,ac).then(t.more),sure:(m)=>void(a.doubted=m.id??""),"cancel-many":(m)=>bx({say:"cancel-many",id:m.id,function:m.function,filter:{state:m.state,cell:m.cell,text:m.text}},`${m.name}`),keep(){a.doubted="";
ac("")},logs(m){delete a.past.task_log;
a.log=a.log?.id===m.id?null:{id:m.id??"",name:m.name??"",search:"",follow:true};
t.look()},"close-log":()=>void(a.log=null),go:({cell=""})=>void(H.go?H.go(cell):dN(f,cell,ac)),details(){a.details=!a.details;
t.look()},tab(m){a.tab=m.tab??"devices";
t.look()},window(m){a.window=Number(m.window);
a.range=null;
t.look()},zoom(m){a.range=zoomed(a.shown,Number(m.by));
t.look()},follow(){a.range=null;
t.look()},"ask-more"(){a.wide=true;
t.more();
t.look()},count(m){a.details=true;
a.tab="tasks";
a.filter={state:m.state==="ended with it"?"":(m.state??""),cell:"",text:m.text??""};
t.look()},sort(m){const bb=m.column??"";
a.sort={column:bb,down:a.sort.column===bb&&!a.sort.down};
a.held=null},group:(m)=>void(a.open.delete(m.function??"")||a.open.add(m.function??"")),tile:(m)=>void(a.device=a.device===m.device?"":(m.device??"")),copy(m){copyText(f.ownerDocument,m.text??"");
ac(`Copied ${m.name}.`)},trace(){const b=H.snapshot();
if(b?.past)save(f.ownerDocument,JSON.stringify(b.past.traceOf(b,t.now())))}};
const cx=(l)=>{const a6=((l.target).closest?.("[data-act]"));
if(!a6||a6.hasAttribute("disabled"))return;
const _=a6.dataset.act??"";
const du=(l).detail>1;
if(!du||!/^(cancel|kill|retry)/.test(_))a7[_]?.(a6.dataset);
t.redraw()};
const c_=(l)=>{const aB=(l.target);
if(aB.dataset?.search&&a.log){a.log.search=aB.value;
t.redraw()}
const g=(aB.dataset?.filter);
if(!g)return;
a.filter={...a.filter,[g]:aB.value};
t.look();
t.redraw()};
const c7=watchZoom(f,a,()=>a.shown,(aE)=>{if(aE)t.look();
t.redraw()});
const r=(l)=>{if(!f.contains((l.target)))return;
c7.key(l);
pressed(l,f,a7,t)};
const bd=H.listen((x)=>{if(x.say==="taken"){clearTimeout(bG.get(x.id));
bG.delete(x.id);
ac(x.words??"")}else if(x.say==="found"&&x.id===a.id){a.found=x.found}else if(x.say==="history"&&x.id===a.id){t.recall(x)}
t.redraw()});
const b3=[watchSight(f,a,t.redraw),c7.end];
f.addEventListener("click",cx);
f.addEventListener("input",c_);
const s=f.ownerDocument.defaultView;
s?.addEventListener("keydown",r,true);
return()=>{bd();
for(const am of b3)am();
for(const dS of bG.values())clearTimeout(dS);
f.removeEventListener("click",cx);
f.removeEventListener("input",c_);
s?.removeEventListener("keydown",r,true)}}
function pressed(l,f,a7,t){const a6=(l.target);
if(l.key==="Escape"&&f.querySelector('[data-act="keep"]'))a7.keep({});
else if(l.key==="Escape"&&f.querySelector(".log"))a7["close-log"]({});
else if(a6.getAttribute("role")==="tab"){const tabs=([...f.querySelectorAll('[role="tab"]')]);
const D=tabs.indexOf(a6);
const cM={ArrowRight:D+1,ArrowLeft:D-1,Home:0,End:tabs.length-1}[l.key];
if(cM!==undefined){const Q=tabs[(cM+tabs.length)%tabs.length];
a7.tab(Q.dataset);
Q.focus();
l.preventDefault()}}
if(l.key!=="Tab")l.stopPropagation();
t.redraw()}
function save(s,p){const bO=s.createElement("a");
bO.href=URL.createObjectURL(new Blob([p],{type:"application/json"}));
bO.download="nbaccel-trace.json";
bO.click();
setTimeout(()=>URL.revokeObjectURL(bO.href),1000)}
function kernelClock(c3=()=>Date.now()/1000){let bZ=0;
return{heard(bE){bZ=Math.max(bZ,bE-c3())},now:()=>c3()+bZ}}
const SVG="http://www.w3.org/2000/svg";
const DRAWN=Symbol("drawn");
function h(dQ,by={},...b2){const{key:r="",...ah}=by;
return{tag:dQ,key:r,props:ah,children:(b2.flat().filter((N)=>N||N===""))}}
function draw(a4,b2){const bh=([...a4.childNodes]);
const keyed=new Map(bh.filter((i)=>keyOf(i)).map((i)=>[keyOf(i),i]));
const dF=bh.filter((i)=>!keyOf(i));
const cG=new Set();
let place=a4.firstChild;
for(const w of b2){const i=matching(w,keyed,dF)??created(w,a4);
cG.add(i);
update(i,w);
if(i===place)place=place.nextSibling;
else a4.insertBefore(i,place)}
for(const i of bh)if(!cG.has(i))i.remove()}
function keyOf(i){return(i)[DRAWN]?.key??""}
function matching(w,keyed,bS){const E=(i)=>typeof w==="string"?i.nodeType===3:(i)[DRAWN]?.tag===w.tag;
if(typeof w!=="string"&&w.key){const i=keyed.get(w.key);
keyed.delete(w.key);
return i&&E(i)?i:undefined}
const v=bS.findIndex(E);
return v<0?undefined:bS.splice(0,v+1)[v]}
function created(w,a4){const s=a4.ownerDocument;
if(typeof w==="string")return s.createTextNode("");
const ds=w.tag==="svg"||a4.namespaceURI===SVG;
const J=ds?s.createElementNS(SVG,w.tag):s.createElement(w.tag);
(J)[DRAWN]={tag:w.tag,key:w.key,props:{},children:[]};
return J}
function update(i,w){if(typeof w==="string"){if(i.nodeValue!==w)i.nodeValue=w;
return}
const J=(i);
const al=(J)[DRAWN];
if(al.shape===w)return;
const B=al.props;
for(const g of Object.keys(B))if(!(g in w.props))set(J,g,null);
for(const[g,C]of Object.entries(w.props))if(B[g]!==C)set(J,g,C);
if("value"in w.props&&(J).value!==w.props.value)set(J,"value",w.props.value);
al.props=w.props;
al.shape=w;
if(w.children.length||J.firstChild)draw(J,w.children)}
function set(J,g,C){if(g==="value")(J).value=C??"";
else if(C==null||C===false)J.removeAttribute(g);
else if(g==="style")J.setAttribute("style",C);
else J.setAttribute(g,C===true?"":String(C))}
function table(b0,at,rows,aC={}){const dn=at.map((bb,v)=>head(typeof bb==="string"?{name:bb}:bb,v,aC.sort));
return h("div",{class:"scroll",key:b0,role:"region","aria-label":b0,tabindex:"0","data-sight":aC.sight??null},h("table",{"aria-rowcount":aC.rows&&aC.rows+1},h("caption",{class:"unseen"},b0),h("thead",{},h("tr",{},dn)),h("tbody",{},rows)))}
function head({name:g,sort:bl},v,aP){if(!bl)return h("th",{scope:"col",key:g||`c${v}`},g||h("span",{class:"unseen"},"Actions"));
const bH=aP?.column!==bl?"none":aP.down?"descending":"ascending";
const c9={none:"",ascending:" ↑",descending:" ↓"}[bH];
return h("th",{scope:"col",key:g,"aria-sort":bH},h("button",{type:"button",class:"sorts","data-act":"sort","data-column":bl},g,h("span",{"aria-hidden":"true"},c9)))}
function nameOf(g){return h("span",{class:"name cut",title:g},g)}
function button(X,by){return h("button",{type:"button",...by},X)}
const VERBS={cancel:"Cancel",kill:"Kill",retry:"Retry"};
function endButton(_,bI,X,a){const{id:u,name:g,owner:aD}=bI;
const aH={"data-id":u,"data-name":g};
if(a.asked.has(u))return button("asked…",{...aH,"aria-label":`${VERBS[_]} ${g} ${X}`,disabled:true});
if(!aD)return button(VERBS[_],{...aH,"data-act":_,"aria-label":`${VERBS[_]} ${g} ${X}`});
if(a.doubted!==u){return button(`${VERBS[_]}…`,{...aH,"data-act":"doubt","data-owner":aD,"aria-label":`${VERBS[_]} ${g} ${X} of ${aD}`})}
return h("span",{class:"ask nowrap"},button("Keep",{...aH,"data-act":"keep","aria-label":`Keep ${g} of ${aD}`})," ",button(`${VERBS[_]} it`,{...aH,"data-act":_,class:"urgent","aria-label":`${VERBS[_]} ${g} of ${aD} all the same`}))}
function chip(p){return h("span",{class:"chip"},p)}
function empty(p,a9){return h("p",{class:"quiet empty",key:"empty"},p,a9&&" ",a9&&h("code",{},a9))}
function stateCell(cl,O,ba){const bT=ba!=null&&(O==="running"||O==="alive")?` ink c${ba}`:"";
return h("td",{class:`nowrap state ${O}`},h("span",{class:`sign${bT}`,"aria-hidden":"true"},cl),` ${O}`)}
function whereCell(F,a){const aD=F.startsWith("[")?"":F.replace(/ \[\d+\].*/,"");
const Z=aD.length>24?[h("span",{class:"cut",title:aD},aD),F.slice(aD.length)]:[F];
return cell(F&&a.goes(F)?h("button",{type:"button",class:"goes","data-act":"go","data-cell":F,title:"Show the cell"},Z):Z,"nowrap where")}
function cell(a1,ae){return h("td",ae?{class:ae}:{},a1)}
const MOST_CHARACTERS=200_000;
const MOST_LINES=2_000;
function withLog(B,q){const ab=[{text:q.out.text,err:false},{text:q.err.text,err:true}].filter((dD)=>dD.text);
const gap=B&&(q.out.left_out||q.err.left_out)?[{text:"… too much was printed to show all of it …\n",err:true}]:[];
let aX=[...(B?.pieces??[]),...gap,...ab];
let size=aX.reduce((aq,{text:p})=>aq+p.length,0);
while(size>MOST_CHARACTERS&&aX.length>1){size-=aX[0].text.length;
aX=aX.slice(1)}
return{pieces:aX,out:q.out.to,err:q.err.to,over:q.over,pid:q.pid?String(q.pid):"",done:q.over&&Boolean(B?.over)&&!ab.length,failure:q.failure,yours:q.yours??"",note:q.note,left:B?.left||Boolean(q.out.left_out||q.err.left_out)}}
function logLines(aX){const aL=[];
const ax={false:null,true:null};
for(const{text:p,err:aR}of aX){const Y=p.split("\n");
Y.forEach((aW,v)=>{const aU=ax[String(aR)]??{text:"",err:aR};
if(ax[String(aR)]===null&&(aW||v<Y.length-1))aL.push(aU);
aU.text+=aW;
ax[String(aR)]=v<Y.length-1?null:aL.includes(aU)?aU:null})}
return aL.map(({text:p,err:aR})=>({text:plain(p.replace(/\r+$/,"").split("\r").at(-1)?.replaceAll("\t","    ")),err:aR}))}
function logRow(a,at){const af=a.log;
if(!af)return null;
const o=(a.past.task_log?.data??null);
return h("tr",{key:`log/${af.id}`,class:"logrow"},h("td",{colspan:at},h("section",{class:"log","aria-label":`Log of ${af.name}`},logHead(af,o),...failureOf(o),printed(af,o))))}
function logHead(af,o){return h("div",{class:"line",key:"head"},h("strong",{},`Log of ${af.name}`),o?.pid&&h("span",{class:"quiet"},`all that its process has printed, pid ${o.pid}`),o&&!o.over&&h("span",{class:"chip"},"live"),h("label",{class:"aside quiet"},"Search ",h("input",{type:"search","data-search":"log",value:af.search,"aria-label":`Search the log of ${af.name}`})),button("Close",{"data-act":"close-log","aria-label":"Close the log"}))}
function failureOf(o){if(!o?.failure)return[];
const aj=h("pre",{tabindex:"0","aria-label":"The whole traceback"},o.failure);
if(!o.yours||o.yours===o.failure)return[h("div",{key:"failure",class:"failure"},aj)];
return[h("div",{key:"failure",class:"failure"},h("pre",{tabindex:"0","aria-label":"Your code in the traceback"},o.yours),h("details",{open:true},h("summary",{},"The whole traceback"),aj))]}
function printed(af,o){if(!o)return h("p",{class:"quiet",key:"none"},"Asking the kernel …");
const P=logLines(o.pieces);
const bW=af.search.trim().toLowerCase();
const ad=bW?P.filter(({text:p})=>p.toLowerCase().includes(bW)):P;
const dy=o.note||(bW&&P.length?"No line has this text.":o.over?"It has printed nothing.":"It has printed nothing yet.");
const cN=[bW&&P.length&&`${ad.length} of ${count(P.length,"line")}`,o.left&&"the beginning is only in %accel_logs",ad.length>MOST_LINES&&`the last ${MOST_LINES} lines`].filter(Boolean);
return h("div",{key:"printed"},cN.length>0&&h("p",{class:"quiet",role:"status"},cN.join(" · ")),ad.length?h("pre",{class:"printed",tabindex:"0","aria-label":"What it has printed"},ad.slice(-MOST_LINES).map(({text:p,err:aR},v)=>h("span",{key:`l${v}`,class:aR?"err":null},`${p}\n`))):h("p",{class:"quiet"},dy))}
function followLog(f,a){const z=a.log?.follow&&f.querySelector(".printed");
if(z)z.scrollTop=z.scrollHeight}
const FIND_EVERY_MS=1000;
const FOUND_AT_FIRST=200;
const MOST_FOUND=1000;
function findKey({filter:A,wide:dZ}){return A.state||A.cell||A.text.trim()?JSON.stringify([A,dZ]):""}
function foundNow(a){const r=findKey(a);
return r&&a.found?.key===r?a.found:null}
function finder(H,a){let U=0;
let G="";
let au;
const bp=()=>{clearTimeout(au);
au=undefined;
const r=a.details&&a.tab==="tasks"?findKey(a):"";
if(!r)return;
U=Date.now();
G=r;
H.send({say:"find",id:a.id,key:r,filter:a.filter,limit:a.wide?MOST_FOUND:FOUND_AT_FIRST})};
const dl=()=>{if(findKey(a)!==G)bp();
else au??=setTimeout(bp,Math.max(0,U+FIND_EVERY_MS-Date.now()))};
return{find:dl,end:()=>clearTimeout(au)}}
function laneName(e){return`${(e.node_id??"").slice(0,12)}/${e.resource}/${e.id}`}
const KEPT_S=120;
const LETTERS="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const MOST_DEVICES=128;
function hasLines(b){const M=b.devices??[];
return M.length<=MOST_DEVICES&&M.some((row)=>row.metrics)}
function withReadings(B,q){const E=B?.origin===q.origin&&B?.step===q.step_s?B:null;
const am=q.first+q.steps;
const an=Math.max(am-Math.round(KEPT_S/q.step_s),E?E.first:q.first);
const aL=new Map();
q.devices.forEach((dj,v)=>{const g=q.prefix+dj;
const o=E?.lines.get(g);
const aU=(aW,ck=1)=>Array.from({length:am-an},(d0,D)=>{const cm=an+D-q.first;
const bh=cm<0?o?.[aW][an+D-(E?.first??0)]:null;
if(cm<0)return bh==null?null:bh*ck;
const aK=LETTERS.indexOf(q[aW][v*q.steps+cm]);
return aK<0?null:aK/(LETTERS.length-1)});
const P={utilisation:aU("utilisation"),memory:aU("memory"),power:aU("power",E?E.watts/q.power_watts:1)};
aL.set(g,P).set(g.slice(g.indexOf("/")),P)});
return{since:q.seq,origin:q.origin,step:q.step_s,first:an,watts:q.power_watts,lines:aL}}
function linesOf(ci,row){return ci?.lines.get(laneName(row))??null}
function rowsQuestion(a,b){const cB=(u)=>a.past[`rows/${u}`]?.due??0;
const[bA]=(b.runs?.open(a)??[]).sort((K,L)=>cB(K)-cB(L));
return bA?{ask:"rows",key:`rows/${bA}`,record:bA}:null}
function placeOf({ask:bp,key:r}){return bp==="rows"?r:bp}
function withRows(B,q){const rows=new Map(B?.rows);
for(const[r,row]of Object.entries(q.rows))rows.set(r,row);
return{since:q.seq,total:q.total,rows}}
const LAST_MINUTE=60;
const WHOLE_RUN=0;
let views=0;
function newState(dg){views+=1;
return{id:`nbaccel-${views}-${Math.random().toString(36).slice(2,8)}`,details:dg,tab:"devices",filter:{state:"",cell:"",text:""},sort:{column:"",down:false},held:null,order:[],open:new Set(),device:"",scrolled:{top:0,height:460,row:46},sights:new Map(),heldSight:"",only:"",wide:false,window:LAST_MINUTE,range:null,shown:{from:0,to:1},lanes:{width:1000,left:110,right:990},room:1000,hover:{bar:"",style:""},rows:new Map(),asked:new Set(),doubted:"",found:null,retries:false,goes:()=>false,said:"",log:null,notices:false,past:{}}}
const LEAST_PAUSE_MS=250;
const LATE_MS=10_000;
const MINUTES_TOLD=3;
function questionOf(a,b,j){const{engine:b4,pid:bj}=b.runtime;
const a0=`${b4} ${bj??""} ${b.nodes?.[0]?.node_id??""}`;
if(a.only)return rowsQuestion(a,b);
const t=a.details?a.tab:"devices";
if(t==="runs")return rowsQuestion(a,b);
if(t==="devices"&&hasLines(b))return{ask:"readings",key:a0};
if(t==="tasks"&&a.log){const[r,o]=[`${a0} ${a.log.id}`,a.past.task_log];
const p=o?.key===r?o.data:null;
return p?.done?null:{ask:"task_log",key:r,task_id:a.log.id,out_since:p?.out??0,err_since:p?.err??0}}
if(t==="accounting")return{ask:"accounting",key:a0};
if(t!=="timeline")return null;
if(a.range)return{ask:"runs",key:`${a0} ${a.range.from} ${a.range.to}`,start:a.range.from,end:a.range.to};
if(a.window===WHOLE_RUN)return{ask:"runs",key:`${a0} all`};
const o=a.past.runs;
const dH=o?.start&&o.key===`${a0} last`&&j-o.start<MINUTES_TOLD*LAST_MINUTE;
return{ask:"runs",key:`${a0} last`,start:dH?o.start:j-a.window}}
function historian(H,a,j){let U=0;
let au;
let G=-LATE_MS;
const dw=()=>{if(Date.now()-G<LATE_MS)return;
G=Date.now();
H.send({say:"past"})};
let bu=true;
const aw=()=>{bu=true;
clearTimeout(au);
const b=H.snapshot();
const aO=b&&!b.ended?questionOf(a,b,j()):null;
if(!aO)return;
if(!["readings","task_log","rows"].includes(aO.ask)&&!b?.past)return void dw();
const place=placeOf(aO);
const o=a.past[place];
const E=o?.key===aO.key&&o.start===aO.start;
const bY=Math.max(E?o.due:0,U+LEAST_PAUSE_MS)-Date.now();
if(bY>0)return void(au=setTimeout(aw,bY));
U=Date.now();
const m=E||aO.ask==="runs"?(o?.data??null):null;
a.past[place]={key:aO.key,start:aO.start,due:U+LATE_MS,data:m};
H.send({say:"history",id:a.id,...aO,since:E?(m?.since??0):0})};
const bd=(x)=>{const bi=a.past[placeOf(x)];
if(bi?.key!==x.key)return;
const q=JSON.parse(x.answer);
const az={readings:withReadings,task_log:withLog,rows:withRows}[(x.ask)]??H.snapshot()?.past?.told[x.ask];
if(az)bi.data=az(bi.data,q);
bi.due=Date.now()+1000*q.pause_s;
const dm=x.ask==="task_log"||(x.ask==="rows"&&!q.pause_s);
if(dm&&bu)aw()};
const am=()=>{bu=false;
clearTimeout(au)};
return{look:aw,heard:bd,end:am}}
const HEIGHT=16;
function shape(aa,$=false){const bV=aa.map((aK,D)=>(aK==null?null:`${D} ${Math.round(10*(HEIGHT-1-aK*(HEIGHT-2)))/10}`));
let cg="";
let aI=-1;
bV.forEach((bU,D)=>{if(bU!=null)cg+=(bV[D-1]==null?"M":"L")+bU;
if(bU!=null&&bV[D-1]==null)aI=D;
if(bU!=null&&bV[D+1]==null&&$)cg+=`L${D} ${HEIGHT}L${aI} ${HEIGHT}Z`});
return cg}
function spark(aL,by={}){const dP=Math.max(2,...aL.map(({levels:aa})=>aa.length));
return h("svg",{class:"spark",viewBox:`0 0 ${dP-1} ${HEIGHT}`,preserveAspectRatio:"none","aria-hidden":"true",...by},aL.map(({levels:aa,kind:ae})=>[ae==="area"&&h("path",{key:"under",class:"under",d:shape(aa,true)}),h("path",{key:ae,class:ae,d:shape(aa)})]).flat())}
function between(aa){const o=(aa??[]).filter((aK)=>aK!=null);
const aN=(aK)=>`${Math.round(100*aK)} %`;
return o.length>1?`between ${aN(Math.min(...o))} and ${aN(Math.max(...o))} in the last two minutes`:""}
const GROUPS=8;
function drawTiles(M,a){return h("div",{key:"tiles"},h("ul",{class:"tiles","aria-label":"Devices"},M.map((e)=>knownTile(e,a))),h("p",{class:"quiet small",key:"holders"},heldBy(M),M.some((e)=>e.lines)&&" · Lines: load (filled), memory and power (dotted) of the last two minutes."))}
function knownTile(e,a){const ak=e.key===a.device;
const F=tileWords(e);
const a1=[F,ak,e.holders.map((k)=>`${k.colour}/${k.fraction}`)].join("\n");
const o=a.rows.get(`tile ${e.key}`);
if(o?.content===a1&&o.of===e.lines)return o.shape;
const shape=tile(e,F,ak);
a.rows.set(`tile ${e.key}`,{content:a1,shape,of:e.lines});
return shape}
function tile(e,F,ak){const n=e.label.replace(/^\S+ /,"");
const Y=e.holders.map((k)=>h("span",{class:`part c${k.colour}`,style:`width:${100*k.fraction}%`}));
return h("li",{key:e.key},h("button",{type:"button",class:"tile","data-act":"tile","data-device":e.key,"aria-expanded":String(ak),"aria-label":F,title:F},h("span",{class:"number"},h("span",{},n),h("span",{class:"quiet"},e.utilisation?.text??"")),h("span",{class:"bar"},Y),e.lines&&spark(linesIn(e.lines))))}
function linesIn({utilisation,memory,power}){return[{levels:utilisation,kind:"area"},{levels:memory,kind:"line"},{levels:power,kind:"dots"}]}
function tileWords(e){const holders=e.holders.map((k)=>[k.name,k.part,k.cell&&`cell ${k.cell}`,k.owner].filter(Boolean).join(" "));
const facts=[e.utilisation?.text,e.memory?.text,e.facts,between(e.lines?.utilisation),e.reason].filter(Boolean);
return`${[e.node,e.label].filter(Boolean).join(" ")}, ${e.state}${holders.length?`: ${holders.join("; ")}`:""}${facts.map((dk)=>`, ${dk}`).join("")}`}
function heldBy(M){const cd=new Map();
for(const e of M)for(const{name:g}of e.holders)cd.set(g,(cd.get(g)??0)+1);
const aP=[...cd].sort((K,L)=>L[1]-K[1]);
const aM=aP.slice(0,GROUPS).map(([g,n])=>(n>1?`${g} × ${n}`:g));
if(aP.length>GROUPS)aM.push(`and ${aP.length-GROUPS} more`);
return aM.length?`Held by ${aM.join(", ")}`:"Nobody holds one."}
const MOST_ROWS=8;
function drawDevices(c,a){if(!c.devices.length){return[empty(["No accelerator.",...c.found,"This counts two logical ones:"].join(" "),"nbaccel.init(num_gpus=2)")]}
if(c.devices.length<=MOST_ROWS)return[models(c.devices),rows(c.devices,c,a)];
const ak=c.devices.filter((e)=>e.key===a.device);
return[models(c.devices),drawTiles(c.devices,a),ak.length>0&&rows(ak,c,a)]}
function models(M){if(!sameModel(M))return null;
const[{model:y,mark:cK}]=M;
return h("p",{class:"quiet small models",key:"models"},`${M.length} × ${y} `,cK&&chip(cK))}
function sameModel(M){return M.length>1&&M.every((e)=>e.model===M[0].model&&e.mark===M[0].mark)}
function rows(M,c,a){const bP=M.some((e)=>e.utilisation||e.memory);
const bk=M.some((e)=>e.node);
const ab=sameModel(c.devices);
const at=["Device",...(bk?["Node"]:[]),c.ended?"State":"In use",...(bP?["Load, memory, power"]:[]),...(c.ended?[]:["Held by"])];
return table("Devices",at,M.map((e)=>row(e,{several:bk,measured:bP,said:ab},c,a)))}
function row(e,{several:bk,measured:bP,said:ab},c,a){return h("tr",{key:e.key,"data-device":e.label},h("th",{scope:"row",title:e.title||null},h("span",{class:"label"},e.label),!ab&&e.mark&&chip(e.mark),!ab&&h("span",{class:"quiet small model"},e.model)),bk&&h("td",{class:"quiet"},e.node),h("td",{class:"use"},!c.ended&&useBar(e),h("span",{class:"nowrap"},h("span",{class:"sign","aria-hidden":"true"},e.sign),` ${e.state}`)),bP&&h("td",{class:"load",title:e.facts},meter("utilisation",e,e.utilisation),meter("memory",e,e.memory),e.power&&meter("power",e,e.power)),!c.ended&&h("td",{class:"holders"},holders(e,c,a)))}
function useBar(e){const Y=e.holders.map((k)=>h("span",{key:k.key,class:`part c${k.colour}`,style:`width:${100*k.fraction}%`}));
return h("div",{class:"bar",role:"img","aria-label":`${e.label}: ${e.use}`,title:e.use},Y)}
function meter(bm,e,C){if(!C)return h("div",{class:"measure quiet small"},`${bm} unknown`);
const aN=Math.min(100,Math.max(0,Math.round(C.percent)));
const g=`${e.label} ${bm}`;
const aa=e.lines?.[bm];
const ab={title:[bm,between(aa)].filter(Boolean).join(": ")};
const al=aa?spark([{levels:aa,kind:"area"}]):h("span",{class:"part",style:`width:${aN}%`});
const ck=bm==="power"?{role:"img","aria-label":`${g} ${C.text}`}:{role:"meter","aria-label":g,"aria-valuemin":"0","aria-valuemax":"100","aria-valuenow":aN,"aria-valuetext":C.text};
return h("div",{class:"measure",...ab},bm==="power"&&!aa?null:h("div",{class:aa?"trend":"bar",...ck},al),h("span",{class:"small"},C.text))}
function holders(e,c,a){const cI=e.holders.map((k)=>holderLine(k,e,c,a));
return[cI.length>0&&h("ul",{},cI),e.reason&&h("span",{class:"quiet"},e.reason)]}
function holderLine(k,e,c,a){const ct=[k.cell&&`cell ${k.cell}`,k.owner].filter(Boolean).join(" of ");
const facts=[k.part,ct,k.age].filter(Boolean).join(" · ");
return h("li",{key:k.key,title:k.pid},h("span",{class:`swatch c${k.colour}`,"aria-hidden":"true"}),h("span",{class:"who"},nameOf(k.name),h("span",{class:"quiet facts"},facts)),(k.taskId||k.actorId)&&stop(k,e,a))}
function stop(k,e,a){const _=k.taskId?"cancel":"kill";
return endButton(_,{id:k.taskId||k.actorId,name:k.name,owner:k.owner},`on ${e.label}`,a)}
function cancelMany(X,u,A,ce,a){const bI=ce?` ${ce}`:"";
const aH={key:u,"data-id":u,"data-name":X+bI,"data-function":ce,"data-state":A.state,"data-cell":A.cell,"data-text":A.text};
if(a.doubted!==u)return button(`${X}…`,{...aH,"data-act":"sure","aria-label":`${X}${bI}…`});
return h("span",{class:"ask nowrap",key:u},button("Keep",{...aH,key:"keep","data-act":"keep"})," ",button(X,{...aH,key:"do","data-act":"cancel-many",class:"urgent","aria-label":X+bI}))}
const PALETTE={hues:[["#2f96e3","#288dd6","#1a83cc"],["#da7360","#ce6b59","#c46250"],["#05948b","#008a82","#269d94"],["#af80c0","#a578b5","#9b6fac"],["#899500","#808c00","#778200"],["#7672c9","#6e6abd","#7f7cd1"],["#317f40","#3d884a","#479153"],["#9d5599","#a35b9f","#a962a4"]],failure:"#ec1c24",attention:"#c77700",waiting:"#808080",grounds:["#ffffff","#212121"]};
const HUES=PALETTE.hues.length;
const SHADES=PALETTE.hues[0].length;
function numberOf(p){let bL=2166136261;
for(let b6=0;b6<p.length;b6++)bL=Math.imul(bL^p.charCodeAt(b6),16777619);
return(bL^(bL>>>15))>>>0}
function colourOf(b,aQ,u){const dr=b.hues?.[aQ]??numberOf(aQ)%HUES;
return dr*SHADES+(u?numberOf(u)%SHADES:0)}
function subjectOf(row){const aj=row.function||row.name;
return(row.kind??"task")==="task"?aj:aj.split(".",1)[0]}
function colourRules(dK){return PALETTE.hues.flat().map((ba,n)=>`${dK} .c${n}{background:${ba};fill:${ba};--c:${ba}}`).join("\n")}
const STATES=["running","waiting","failed","cancelled","finished"];
function taskCounts(b){const I=Object.fromEntries(STATES.map((a)=>[a,0]));
for(const[a,n]of Object.entries(b.counts??{})){const O=stateWord(a);
I[O]=(I[O]??0)+n}
return I}
function waitingViews(b,j){return(b.tasks??[]).filter((row)=>stateWord(row.state)==="waiting").sort((K,L)=>(K.submitted_at??0)-(L.submitted_at??0)).map((row)=>taskView(row,b,j))}
function taskViews(b,A,j){const p=A.text.trim().toLowerCase();
const rows=(b.tasks??[]).filter((row)=>passes(row,b,A,p));
return rows.map((row)=>taskView(row,b,j))}
function passes(row,b,A,p){if(A.state&&stateWord(row.state)!==A.state)return false;
if(A.cell&&cellOf(row,b)!==A.cell)return false;
if(!p)return true;
return[row.name,row.task_id,row.cell,whyOf(row,b),deviceWords(row.device_ids)].some((N)=>(N??"").toLowerCase().includes(p))}
function cellOf(row,b){return row.cell?cellWords(b,{job:row.job,cell:row.cell.split(" ")[0]}):""}
function cellsOf(b){const n=(cell)=>Number(/\[(\d+)\]$/.exec(cell)?.[1]??0);
const bT=(cell)=>(cell.startsWith("[")?0:1);
const da=new Set((b.tasks??[]).map((row)=>cellOf(row,b)).filter(Boolean));
return[...da].sort((K,L)=>bT(K)-bT(L)||n(K)-n(L))}
function whyOf(row,b){return row.reason==null?(row.why??""):(b.reasons?.[row.reason]??"")}
function withoutSubject(bn,row){const g=plain(row.name).replace(/\.__init__$/,"");
const cell=plain(row.cell);
if(!bn.startsWith(g))return bn;
let ah=bn.slice(g.length+1);
if(cell&&ah.startsWith(`(cell ${cell}`))ah=ah.slice(ah.indexOf(") ")+2);
if(ah.startsWith("waits for "))return ah.includes(". ")?ah.slice(ah.indexOf(". ")+2):ah;
return ah.startsWith("asks ")?ah:bn}
function taskView(row,b,j){const a=stateWord(row.state);
const cU=a==="waiting"?row.submitted_at:(row.started_at??row.submitted_at);
const a3=ENDED.has(row.state);
return{id:row.task_id,short:shortId(row.task_id),name:plain(row.name),sign:stateSign(a),state:a,devices:deviceWords(row.device_ids),pid:row.pid?String(row.pid):"",cell:cellWords(b,row),owner:ownerOf(b,row),age:cU==null?"":age((row.finished_at??j)-cU),started:row.started_at==null?"":clock(row.started_at,j),took:tookWords(row,a,j),subject:plain(subjectOf(row)),colour:colourOf(b,subjectOf(row),row.actor_id||row.task_id),keys:{submitted:row.submitted_at??0,started:row.started_at??Infinity,took:row.started_at==null?-1:(row.finished_at??j)-row.started_at},peak:row.peak_memory_bytes==null?"":size(row.peak_memory_bytes),why:[row.retry_of&&`retry of #${shortId(row.retry_of)}`,row.choice?`runs as ${plain(row.choice)}`:"",withoutSubject(plain(whyOf(row,b)),row)].filter(Boolean).join(": "),retryable:Boolean(row.retryable),asks:Object.keys(row.demand??{}).length?demandWords(row.demand):"",cancellable:!a3&&row.state!=="ENDED_WITH_IT"}}
function tookWords(row,a,j){if(row.started_at==null)return a==="waiting"&&row.submitted_at!=null?`waits ${age(j-row.submitted_at)}`:"";
const ai=(row.finished_at??j)-row.started_at;
if(row.finished_at!=null)return duration(ai);
const[W,aG]=row.progress??[0,0];
if(!aG)return age(ai);
const av=W>0&&W<aG?`${age((ai*(aG-W))/W)} left`:"";
return[age(ai),`${Math.round((100*W)/aG)} %`,av].filter(Boolean).join(" · ")}
function actorViews(b,j){return(b.actors??[]).map((row)=>actorView(row,b,j))}
function actorView(row,b,j){const a=row.state==="PENDING_CREATION"?"waiting":stateWord(row.state);
return{id:row.actor_id,name:plain(row.class_name)+(row.name?` “${plain(row.name)}”`:""),sign:stateSign(a),state:a,devices:deviceWords(row.device_ids),pid:row.pid?String(row.pid):"",cell:cellWords(b,row),owner:ownerOf(b,row),age:row.since==null?"":age(j-row.since),colour:colourOf(b,row.class_name,row.actor_id),calls:row.pending_calls?String(row.pending_calls):"",why:[row.restarts?`restarted ${row.restarts} ×`:"",plain(row.why)].filter(Boolean).join(" · "),alive:row.state!=="DEAD"}}
const MOST_OF_ONE=8;
const ORDER=["running","failed","waiting","cancelled","finished"];
const OVERSCAN=12;
const KEYS={task:(d)=>`${d.name}\n${d.short}`,state:(d)=>place(d.state),devices:(d)=>d.devices||"~",started:(d)=>d.keys.started,took:(d)=>d.keys.took};
function place(a){const D=ORDER.indexOf(a);
return D<0?ORDER.length:D}
function ordered(R,bl,ap){const r=KEYS[bl.column];
const c2=(K,L)=>place(K.state)-place(L.state)||L.keys.submitted-K.keys.submitted;
const dd=(K,L)=>{if(!r)return c2(K,L);
const[cP,cR]=[r(K),r(L)];
const bH=cP<cR?-1:cP>cR?1:0;
return(bl.down?-bH:bH)||c2(K,L)};
const aP=[...R].sort(dd);
if(!ap)return aP;
const B=new Map(ap.map((u,v)=>[u,v]));
return aP.sort((K,L)=>(B.get(K.id)??ap.length)-(B.get(L.id)??ap.length))}
function grouped(R,ax){const b$=new Map();
for(const d of R){const E=b$.get(d.subject);
if(E)E.push(d);
else b$.set(d.subject,[d])}
const rows=[];
for(const d of R){const E=b$.get(d.subject)??[];
if(E.length<=MOST_OF_ONE)rows.push({task:d,inGroup:false});
else if(E[0]===d)rows.push(...groupRows(E,ax.has(d.subject)))}
return rows}
function groupRows(R,ax){const I=new Map();
for(const d of R)I.set(d.state,(I.get(d.state)??0)+1);
const W=I.get("finished")??0;
const bS=STATES.filter((a)=>a!=="finished"&&I.get(a)).map((a)=>`${I.get(a)} ${a}`);
const ao={subject:R[0].subject,tasks:R,open:ax,done:W,words:[`${W} of ${R.length}`,...bS].join(" · ")};
return[{group:ao},...(ax?R.map((d)=>({task:d,inGroup:true})):[])]}
function alike(aA){const aS=new Map();
for(const d of aA){const r=`${d.name}\n${d.why}\n${d.asks}`;
const ao=aS.get(r)??{task:d,number:0,ids:[]};
ao.number+=1;
ao.ids.push(d.id);
aS.set(r,ao)}
return[...aS.values()].sort((K,L)=>L.number-K.number)}
function inSight(n,ay){const bC=Math.ceil(ay.height/ay.row)+2*OVERSCAN;
const an=Math.max(0,Math.min(Math.floor(ay.top/ay.row)-OVERSCAN,n-bC));
return{first:an,last:Math.min(n,an+bC)}}
function drawWaiting(c,a){if(!c.counts.waiting)return[empty("Nothing waits. A task that finds no free device waits here, with the reason:","train.options(num_gpus=1).remote()")];
const aS=alike(c.waiting);
const rows=aS.map(({task:d,number:n})=>h("tr",{key:d.id,"data-task":d.id},nameCell(d,n),cell(d.asks,"nowrap"),whereCell(d.cell,a),cell(d.age,"short"),cell(d.why||h("span",{class:"quiet"},"asked for, not looked at yet"),"why"),cell(n>1?showAll(d,n):cancel(d,c,a),"acts")));
const aC=c.counts.waiting-c.waiting.length;
return[rows.length>0&&table("Waiting tasks",["Task","Asks for","Cell","For","Why it waits",""],rows),aC>0&&moreLine(`and ${aC} more that wait`,a),c.counts.waiting>1&&!c.ended&&h("p",{key:"all"},cancelMany("Cancel all that wait","waiting",{state:"waiting",cell:"",text:""},"",a))]}
function showAll(d,n){return button(`Show all ${n}`,{"data-act":"count","data-state":"waiting","data-text":d.name,"aria-label":`Show all ${n} ${d.name} that wait`})}
function nameCell(d,n){return h("th",{scope:"row"},nameOf(d.name),h("span",{class:"quiet small below"},n>1?`× ${n}`:`#${d.short}`))}
function cancel(d,c,a){if(!d.cancellable||c.ended)return null;
return endButton("cancel",d,`#${d.short}`,a)}
function moreLine(p,a){return h("p",{class:"more",key:"unsent"},h("span",{class:"quiet"},`${p} `),!a.wide&&button("Ask for more rows",{"data-act":"ask-more"}))}
function drawActors(c,a){if(!c.actors.length)return[empty("No actor. A remote class that is called makes one:","Counter.remote()")];
const rows=c.actors.map((S)=>h("tr",{key:S.id,"data-actor":S.id},h("th",{scope:"row"},nameOf(S.name),h("span",{class:"quiet small below"},[`#${S.id.slice(0,8)}`,S.pid&&`pid ${S.pid}`].filter(Boolean).join(" · "))),stateCell(S.sign,S.state,S.colour),cell(S.devices,"nowrap"),whereCell(S.cell,a),cell(S.age,"short"),h("td",{"data-head":"calls waiting"},S.calls),cell(S.why,"why"),cell(S.alive&&!c.ended&&endButton("kill",S,`#${S.id.slice(0,8)}`,a),"acts")));
return[table("Actors",["Actor","State","Devices","Cell","Age","Calls waiting","Why",""],rows),c.actorsMore>0&&h("p",{class:"quiet more",key:"more"},`and ${c.actorsMore} more actors`)]}
function drawAlerts(c){if(!c.alerts.length)return[empty("No alert. Failures, leaks, lost devices and requests that can never be met are told here, such as:","f.options(num_gpus=1000).remote()")];
return[h("ul",{class:"alerts",key:"alerts"},c.alerts.map((V)=>h("li",{key:V.key},h("strong",{},h("span",{"aria-hidden":"true"},"⚠ "),V.kind),` ${V.message}`,h("span",{class:"quiet"},` ${V.age} ago`))))]}
function drawNodes(c){const rows=c.nodes.map((i)=>h("tr",{key:i.key},h("th",{scope:"row"},h("span",{class:"name"},i.name)),stateCell(i.sign,i.state),cell(i.role),cell(i.resources),cell(i.why,"why")));
return[table("Nodes",["Node","State","Role","Resources","Why"],rows)]}
function drawTasks(c,a){const $={peak:c.tasks.some((d)=>d.peak),why:c.tasks.some((d)=>d.why)};
a.order=c.tasks.map((d)=>d.id);
const rows=a.sort.column?c.tasks.map((d)=>({task:d,inGroup:false})):grouped(c.tasks,a.open);
const dq=c.tasksFound-c.tasks.length;
const dW=c.foundInAll?dq:c.taskTotal-c.taskRows;
return[filters(c,a),rows.length?tableOf(rows,$,c,a):nothingFound(c),dW>0&&moreLine(`${c.tasks.length} of ${c.foundInAll?c.tasksFound:c.taskTotal} tasks are here`,a)]}
function tableOf(rows,$,c,a){const at=[{name:"Task",sort:"task"},{name:"State",sort:"state"},{name:"Devices",sort:"devices"},"Cell",{name:"Started",sort:"started"},{name:"Took",sort:"took"},...($.peak?["Peak memory"]:[]),...($.why?["Why"]:[]),""];
const{first:an,last:U}=inSight(rows.length,a.scrolled);
const al=rows.slice(an,U).flatMap((row)=>{if("group"in row)return[groupRow(row.group,at.length,c,a)];
const shape=knownRow(row.task,row.inGroup,$,c,a);
return a.log?.id===row.task.id?[shape,logRow(a,at.length)]:[shape]});
const{row}=a.scrolled;
return table("Tasks",at,[gap("above",an*row),...al,gap("below",(rows.length-U)*row)].filter(Boolean),{rows:rows.length,sort:a.sort})}
function gap(ct,be){return be>0&&h("tr",{key:ct,class:"gap","aria-hidden":"true",style:`height:${Math.round(be)}px`})}
function nothingFound(c){if(!c.taskTotal)return empty("No task yet. A remote function that is called makes one:","f.remote()");
return empty(c.foundInAll?"No task passes the filter.":"No task of these rows passes the filter.")}
function groupRow(ao,at,c,a){const{subject:aQ,tasks:R,open:ax,done:W,words:F}=ao;
const dC=c.taskTotal>c.taskRows&&!c.foundInAll?` (of the ${c.taskRows} rows that are here)`:"";
return h("tr",{key:`group/${aQ}`,class:"group","data-function":aQ},h("th",{scope:"row",colspan:at},h("button",{type:"button",class:"opens","data-act":"group","data-function":aQ,"aria-expanded":String(ax)},h("span",{"aria-hidden":"true"},ax?"▾ ":"▸ "),nameOf(aQ)),h("span",{class:"bar","aria-hidden":"true"},h("span",{class:`part c${R[0].colour}`,style:`width:${(100*W)/R.length}%`})),h("span",{class:"quiet"},F+dC),!c.ended&&R.some((d)=>d.cancellable)&&cancelMany("Cancel all",`group/${aQ}`,a.filter,aQ,a)))}
function knownRow(d,bN,$,c,a){const a1=[...Object.values(d),bN,$.peak,$.why,c.ended,a.asked.has(d.id),a.doubted===d.id,a.log?.id===d.id].join("\n");
const o=a.rows.get(d.id);
if(o?.content===a1)return o.shape;
const shape=taskRow(d,bN,$,c,a);
a.rows.set(d.id,{content:a1,shape});
return shape}
function taskRow(d,bN,$,c,a){const b_=[`#${d.short}`,d.pid&&`pid ${d.pid}`].filter(Boolean).join(" · ");
return h("tr",{key:d.id,"data-task":d.id,class:bN?"inner":null},h("th",{scope:"row"},nameOf(d.name),h("span",{class:"quiet small below"},b_)),stateCell(d.sign,d.state,d.colour),cell(d.devices||d.asks,d.devices?"nowrap":"quiet nowrap"),whereCell(d.cell,a),cell(d.started,"nowrap"),tookCell(d.took),$.peak&&cell(d.peak,"nowrap"),$.why&&cell(d.why&&h("span",{class:"two-lines",title:d.why},d.why),d.why?"why":""),cell([cancel(d,c,a),d.retryable&&a.retries&&!c.ended&&endButton("retry",d,`#${d.short}`,a),logs(d,c,a)],"acts"))}
function tookCell(dT){const[bE,...cD]=dT.split(" · ");
return cell([bE,cD.length>0&&[" ",h("span",{class:"quiet small below"},cD.join(" · "))]].flat(),"short")}
function logs(d,c,a){if(d.state==="waiting"||c.ended)return null;
return button("Log",{"data-act":"logs","data-id":d.id,"data-name":d.name,"aria-expanded":String(a.log?.id===d.id),"aria-label":`Log of ${d.name} #${d.short}`})}
function filters(c,a){const{filter:A}=a;
const bR=(C,X,ak)=>h("option",{key:C||"all",value:C,selected:C===ak},X);
return h("div",{class:"filters",role:"group","aria-label":"Filter tasks",key:"filters"},h("label",{},"State ",h("select",{"data-filter":"state",value:A.state},bR("","all",A.state),STATES.map((O)=>bR(O,`${O} (${c.counts[O]??0})`,A.state)))),h("label",{},"Cell ",h("select",{"data-filter":"cell",value:A.cell},bR("","all",A.cell),c.cells.map((g)=>bR(g,g,A.cell)))),h("label",{},"Text ",h("input",{type:"search","data-filter":"text",value:A.text,placeholder:"name, id, reason"})),(A.state||A.cell||A.text)&&!c.ended&&c.tasks.some((d)=>d.cancellable)&&cancelMany("Cancel all of these","these",A,"",a),!c.ended&&button("Notify me",{"data-act":"notices",class:"aside","aria-pressed":String(a.notices),title:"A notice of the browser when a task of more than a minute ends or fails"}),a.sort.column&&button("In the usual order",{"data-act":"sort","data-column":""}))}
const VIEWS={devices:drawDevices,waiting:drawWaiting,tasks:drawTasks,actors:drawActors,timeline:(c,a)=>c.pastViews?.drawTimeline(c,a)??loading(c),accounting:(c)=>c.pastViews?.drawAccounts(c)??loading(c),alerts:drawAlerts,nodes:drawNodes,runs:(c,a)=>c.runs?.draw(a)??[]};
const WAITING_SHOWN=3;
const ALERTS_SHOWN=2;
function drawFrame(c,a){const br=a.details?[tabs(c,a),panel(c,a)]:compact(c,a);
return[header(c,a),...br,h("p",{class:"said",key:"said",role:"status","aria-live":"polite"},a.said)]}
function drawOnly(c,a){const Z=c.runs?.only(a).flat()??[];
return[...(Z.length?Z:drawEmpty("Waiting for news of it …")),h("p",{class:"said",key:"said",role:"status","aria-live":"polite"},a.said)]}
function drawEmpty(F){return[h("p",{class:"quiet",key:"none"},F)]}
function loading(c){return[empty(c.ended?"This view was not opened before the end.":"Asking the kernel …")]}
function header(c,a){return h("header",{key:"header"},h("div",{class:"line"},firstLine(c),c.ended&&h("span",{class:"chip"},c.ended),c.alerts.length>0&&h("span",{class:"chip urgent"},h("span",{"aria-hidden":"true"},"⚠ "),c.alerts.length===1?"1 alert":`${c.alerts.length} alerts`),button(a.details?"Less":"Details",{"data-act":"details","aria-expanded":String(a.details),class:"aside"})),c.resources.length>0&&h("div",{class:"line quiet"},c.resources.join(" · ")))}
function firstLine(c){const I=Object.entries(c.counts).filter(([,n])=>n);
const Y=[...c.busy.map((F)=>h("strong",{key:F},F)),...I.map(([O,n])=>button(`${n} ${O}`,{key:O,class:`count ${O}`,"data-act":"count","data-state":O,title:`Show the ${O} tasks`}))];
const ab=Y.flatMap((aW,v)=>(v?[h("span",{key:`dot${v}`,class:"quiet"}," · "),aW]:[aW]));
return h("span",{class:"first",title:c.title.join(" · ")},ab,!I.length&&h("span",{class:"quiet"},ab.length?" · no task yet":"no task yet"))}
function compact(c,a){const az=new Set(c.alerts.slice(0,ALERTS_SHOWN).map((V)=>V.never));
const P=alike(c.waiting);
const c1=P.filter(({ids:bf})=>!bf.some((u)=>az.has(u)));
const aS=c1.slice(0,WAITING_SHOWN);
const aA=aS.map(({task:d,number:n})=>h("li",{key:d.id},h("span",{class:"sign","aria-hidden":"true"},"◌ "),n>1&&`× ${n} `,nameOf(d.name),` waits ${d.age}: `,h("span",{class:"quiet"},d.why||d.asks)));
const ab=P.filter((ao)=>!c1.includes(ao)||aS.includes(ao));
const aC=c.counts.waiting-ab.reduce((aq,ao)=>aq+ao.number,0);
if(aC>0)aA.push(h("li",{key:"more",class:"quiet"},`and ${aC} more that wait`));
const cL=c.nodes.filter((i)=>i.moves).map((i)=>h("li",{key:i.key},h("span",{class:"sign","aria-hidden":"true"},`${i.sign} `),nameOf(i.name),` ${i.state} `,h("span",{class:"quiet"},i.why)));
const bo=c.alerts.slice(0,ALERTS_SHOWN).map((V)=>h("li",{key:V.key},h("strong",{},"⚠ Attention:"),` ${V.message}`));
return[...drawDevices(c,a),...(c.runs?.brief(a)??[]),cL.length>0&&h("ul",{class:"lines",key:"nodes","aria-label":"Nodes that come and go"},cL),aA.length>0&&h("ul",{class:"lines",key:"waiting","aria-label":"Waiting tasks"},aA),bo.length>0&&h("ul",{class:"alerts",key:"alerts","aria-label":"Alerts"},bo)]}
function tabs(c,a){return h("div",{class:"tabs",role:"tablist","aria-label":"Views",key:"tabs"},c.tabs.map((Q)=>{const ak=Q.id===a.tab;
return h("button",{type:"button",key:Q.id,role:"tab",id:`${a.id}-${Q.id}`,"aria-selected":String(ak),"aria-controls":`${a.id}-panel`,tabindex:ak?"0":"-1","data-act":"tab","data-tab":Q.id},Q.urgent&&h("span",{"aria-hidden":"true"},"⚠ "),Q.label,Q.badge>0&&h("span",{class:Q.failed?"badge failed":"badge",title:Q.failed?"failed":null},String(Q.badge)))}))}
function panel(c,a){const t=VIEWS[a.tab]??drawDevices;
return h("div",{role:"tabpanel",id:`${a.id}-panel`,"aria-labelledby":`${a.id}-${a.tab}`,tabindex:"-1",key:`panel-${a.tab}`,class:"panel"},...t(c,a).flat())}
const LONG_ID=20;
function deviceLabels(rows){const ae=(row)=>`${row.node_id??""}/${row.resource}`;
const ar=new Set(rows.filter((row)=>!row.parent).map((row)=>`${ae(row)}/${row.id}`));
const cw=new Map();
const bt=new Map();
for(const row of rows){if(!row.parent){bt.set(row,`${plain(row.resource)} ${short(row.id)}`);
continue}
const r=`${ae(row)}/${row.parent}`;
const b1=cw.get(r)??{number:firstFree(ae(row),ar),instances:0};
cw.set(r,b1);
const dG=row.profile?` (${plain(row.profile)})`:"";
bt.set(row,`${plain(row.resource)} ${b1.number} · MIG ${b1.instances++}${dG}`)}
return bt}
function firstFree(ae,ar){let n=0;
while(ar.has(`${ae}/${n}`))n+=1;
ar.add(`${ae}/${n}`);
return n}
function short(u){return plain(u).length>LONG_ID?`${plain(u).slice(0,12)}…`:plain(u)}
function deviceViews(b,j,ci=null){const rows=(b.devices??[]).filter((row)=>row.offered!==false);
const bk=new Set(rows.map((row)=>row.node_id)).size>1;
const aM=new Map((b.nodes??[]).map((i)=>[i.node_id,plain(i.name)]));
const bt=deviceLabels(b.devices??[]);
return rows.map((row)=>({...deviceView(row,bt.get(row)??"",bk?(aM.get(row.node_id??"")??row.node_id?.slice(0,8)??""):"",b,j),lines:row.metrics?linesOf(ci,row):null}))}
function deviceView(row,X,i,b,j){const[cl,a]=deviceState(row);
const holders=holderViews(row.holders??[],b,j);
return{key:`${row.node_id??""}/${row.resource}/${row.id}`,label:X,title:row.parent?plain(row.id):"",node:i,model:[plain(row.name||row.type||row.family),row.parent?"":plain(row.profile)].filter(Boolean).join(" · "),mark:(row.kind??"real")==="real"?"":(row.kind??""),sign:cl,state:a,use:useWords(holders),utilisation:utilisation(row),memory:memory(row),power:power(row),facts:facts(row),reason:plain(row.free_reason),holders}}
function deviceState(row){const ap=row.holders?.length;
if(row.over)return["–","given back"];
if(row.free_reason&&!ap)return["✕","busy"];
if(!ap)return["○","free"];
return(row.free??1)>0?["◐","shared"]:["●","held"]}
function holderViews(holders,b,j){const bf=holders.map((k)=>k.task_id??k.actor_id??k.name);
return holders.map((k,v)=>({key:bf[v],name:plain(k.name),part:(k.amount??1)===1?"":amount(k.amount??1),cell:plain(k.cell),owner:ownerOf(b,k),age:k.since?age(j-k.since):"",pid:k.pid?`pid ${k.pid}`:"",colour:colourOf(b,k.function||k.name,k.actor_id??bf[v]),fraction:Math.min(1,Math.max(0,k.amount??1)),taskId:k.task_id??"",actorId:k.task_id?"":(k.actor_id??"")}))}
function useWords(holders){if(!holders.length)return"nobody holds it";
return holders.map((k)=>`${k.name} ${k.part||"1"}`).join(", ")}
function utilisation(row){const aN=row.metrics?.utilisation_percent;
return aN==null?null:{percent:aN,text:`${Math.round(aN)} %`}}
function memory(row){const cs=row.metrics?.memory_used_bytes;
const aG=row.metrics?.memory_total_bytes??row.memory_bytes;
if(cs==null||!aG)return null;
return{percent:(100*cs)/aG,text:`${size(cs)} of ${size(aG)}`}}
function power(row){const c4=row.metrics?.power_watts;
return c4==null?null:{percent:0,text:`${Math.round(c4)} W`}}
function facts(row){const Y=[];
if(row.metrics?.temperature_celsius!=null)Y.push(`${Math.round(row.metrics.temperature_celsius)} °C`);
if(row.metrics?.power_watts!=null)Y.push(`${Math.round(row.metrics.power_watts)} W`);
return Y.join(" · ")}
function afterEnd(b){const{shared:bX}=b.runtime;
const b8=(a)=>(ENDED.has(a)?a:"ENDED_WITH_IT");
const R=(b.tasks??[]).map((row)=>({...row,state:b8(row.state),reason:ENDED.has(row.state)?row.reason:null}));
const I={};
for(const[a,n]of Object.entries(b.counts??{}))I[b8(a)]=(I[b8(a)]??0)+n;
if(bX)delete I.ENDED_WITH_IT;
return{...b,devices:(b.devices??[]).map((row)=>({...row,holders:[],free_reason:"",metrics:null,over:true})),tasks:bX?R.filter((row)=>ENDED.has(row.state)):R,counts:I,actors:(b.actors??[]).map((row)=>({...row,state:"DEAD",pending_calls:0})),actor_counts:{}}}
const HIDDEN_RESOURCES=/^(node:|accelerator_type:|bundle_)|^(memory|object_store_memory)$|_group_/;
const BY_STATE={column:"",down:false};
const NO_FILTER={state:"",cell:"",text:""};
function sceneOf(aJ,G,j){const a2=aJ.lost?"the kernel has gone":!aJ.ended?"":aJ.runtime.shared?"left":"shut down";
const b=a2?afterEnd(aJ):aJ;
const I=taskCounts(b);
const Q=G.tab;
const a5=b.runs?.(j,a2!=="",b);
const R=Q==="tasks"?tasksOf(b,G,j):[];
return{title:titleOf(b),ended:a2,counts:I,busy:a2?[]:busyOf(b),resources:resourcesOf(b,a2!==""),tabs:tabsOf(b,I,a5),devices:deviceViews(b,j,Q==="devices"?G.past?.readings?.data:null),found:(b.found??[]).map(plain),waiting:waitingViews(b,j),tasks:R,tasksFound:G.found?.total??R.length,foundInAll:Boolean(G.found),taskRows:(b.tasks??[]).length,taskTotal:Object.values(I).reduce((aq,n)=>aq+n,0),cells:Q==="tasks"?cellsOf(b):[],actors:Q==="actors"?actorViews(b,j):[],actorsMore:actorsMore(b),runs:a5,pastViews:b.past,timeline:Q==="timeline"&&b.past?b.past.timelineOf(b,G.window,j,G.range,G.past?.runs?.data):null,accounts:Q==="accounting"&&b.past?b.past.accountsView(G.past?.accounting?.data,b,j):null,alerts:alertsOf(b,j),nodes:nodesOf(b,j)}}
function tasksOf(b,G,j){const ad=G.found;
const rows=ad?{...b,tasks:ad.tasks,reasons:ad.reasons}:b;
return ordered(taskViews(rows,ad?NO_FILTER:G.filter,j),G.sort??BY_STATE,G.held??null)}
function titleOf(b){const{engine:b4,version:dY,pid:bj,shared:bX}=b.runtime;
const cu=(b.nodes??[]).filter((i)=>i.alive!==false).length;
return["nbaccel "+plain(dY),`${plain(b4)} engine`,cu>1?count(cu,"node"):"",bj?`head pid ${bj}`:"",bX?"shared by several notebooks":""].filter(Boolean)}
function busyOf(b){const ap=new Map();
for(const row of b.devices??[]){if(row.offered===false)continue;
const dt=Boolean(row.holders?.length||row.free_reason);
ap.set(row.resource,[...(ap.get(row.resource)??[]),dt])}
if(ap.size)return[...ap].map(([g,N])=>`${N.filter(Boolean).length} of ${count(N.length,plain(g))} busy`);
const aq=(of)=>(b.nodes??[]).reduce((P,i)=>P+(i.alive===false?0:(i[of]?.CPU??0)),0);
return aq("totals")?[`${amount(aq("totals")-aq("available"))} of ${amount(aq("totals"))} CPUs busy`]:[]}
function resourcesOf(b,a2){const co=new Map();
for(const i of b.nodes??[]){for(const[g,aG]of i.alive===false?[]:Object.entries(i.totals??{})){if(HIDDEN_RESOURCES.test(g))continue;
const[b5,P]=co.get(g)??[0,0];
co.set(g,[b5+(i.available?.[g]??0),P+aG])}}
return[...co].map(([g,[b5,P]])=>`${plain(g)} ${a2?amount(P):`${amount(b5)} of ${amount(P)} free`}`)}
function tabsOf(b,I,a5){const bo=(b.alerts??[]).length;
const c8=(b.actors??[]).filter((row)=>row.state!=="DEAD").length+actorsMore(b);
const tabs=[{id:"devices",label:"Devices",badge:0,urgent:false},{id:"waiting",label:"Waiting",badge:I.waiting,urgent:false},{id:"tasks",label:"Tasks",badge:I.failed,urgent:false,failed:true},{id:"actors",label:"Actors",badge:c8,urgent:false},{id:"timeline",label:"Timeline",badge:0,urgent:false},{id:"accounting",label:"Accounting",badge:0,urgent:false},{id:"alerts",label:"Alerts",badge:bo,urgent:bo>0}];
if(a5)tabs.push({id:"runs",label:"Runs",badge:a5.active,urgent:false});
if((b.nodes??[]).length>1||b.arrivals?.length)tabs.push({id:"nodes",label:"Nodes",badge:0,urgent:false});
return tabs}
function actorsMore(b){const Z=(b.actors??[]).filter((row)=>row.state!=="DEAD").length;
const P=Object.entries(b.actor_counts??{}).filter(([a])=>a!=="DEAD");
return Math.max(0,P.reduce((aq,[,n])=>aq+n,0)-Z)}
function alertsOf(b,j){return(b.alerts??[]).map((V,v)=>({key:`${V.since}/${v}`,kind:plain(V.kind),message:plain(V.message),age:age(j-V.since),never:(V.kind==="infeasible"&&V.task_id)||"-"})).reverse()}
function nodesOf(b,j){const dp=(b.nodes??[]).map((i)=>({key:i.node_id,name:plain(i.name),sign:i.alive===false?"✕":"●",state:i.alive===false?"gone":"alive",role:i.is_head?"head":"",resources:resourcesOf({...b,nodes:[i]},Boolean(b.ended)).join(" · "),why:plain(i.why)||whyOfNode(i,j),moves:(i.leaves_at??0)>j}));
const dc=(b.arrivals??[]).map((N)=>({key:N.id,name:plain(N.node_type),sign:"◌",state:"arriving",role:"",resources:"",moves:true,why:`for ${duration(j-(N.since??j))}${N.usually_s?` (usually ${duration(N.usually_s)})`:""}${N.state?`: ${plain(N.state)}`:""}`}));
return[...dp,...dc]}
function whyOfNode(i,j){if(i.kept_by)return`stays: ${plain(i.kept_by)}`;
if(!i.leaves_at||!i.idle_since)return"";
const av=i.leaves_at-j;
return`idle for ${duration(j-i.idle_since)}, ${av>0?`leaves in ${duration(av)}`:"kept for a request or its type's min"}`}
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
& .tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(68px,1fr));gap:4px;list-style:none;margin:8px 0 0;padding:0}
& .tiles li{margin:0;min-width:0}
& .tile{display:block;width:100%;padding:3px 6px 6px;text-align:left}
& .tile[aria-expanded=true]{border-color:var(--focus);background:var(--raised)}
& .tile .number{display:flex;justify-content:space-between;gap:4px;white-space:nowrap;overflow:hidden;font-size:.92em}
& .tile .bar{width:100%;height:8px}
& .badge.failed{background:none;color:var(--failed);border:1px solid var(--failed)}
& .badge{margin-left:6px;padding:0 6px;border-radius:9px;background:var(--raised);color:var(--ink);font-size:.88em;font-weight:400}
& .scroll{overflow:auto;max-height:460px;margin-top:6px}
& .scroll[aria-label=Devices]{max-height:none}
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
function watchVisibility(J,T){const s=J.ownerDocument;
const c6=s.defaultView??window;
let cO=false;
let U=null;
const aw=(aT=false)=>{const a_=cO&&!aT&&s.visibilityState!=="hidden";
if(a_!==U){U=a_;
T(a_,aT)}else if(aT)T(false,true)};
const bw=new IntersectionObserver((cC)=>{cO=cC[cC.length-1].isIntersecting;
aw()});
const cZ=()=>aw();
const aT=()=>aw(true);
bw.observe(J);
s.addEventListener("visibilitychange",cZ);
c6.addEventListener("pagehide",aT);
return()=>{bw.disconnect();
s.removeEventListener("visibilitychange",cZ);
c6.removeEventListener("pagehide",aT);
aw(true)}}
const MORE_ROWS=1000;
function mount(place,H,cQ={}){const s=place.ownerDocument;
const f=s.createElement("div");
const cn=s.createElement("style");
cn.textContent=STYLE;
f.className="nbaccel-cockpit";
f.dataset.lmSuppressShortcuts="true";
place.append(cn,f);
const a=cQ.state??newState(cQ.details??false);
a.goes=(cell)=>Boolean(H.go)||isHere(f,cell);
a.retries=Boolean(H.retries);
const clock=kernelClock();
let a_=false;
const bg={running:(new Set())};
let aA=0;
const ag=()=>{aA=0;
const b=H.snapshot();
const cF=f.contains(s.activeElement)?s.activeElement:null;
if(f.clientWidth)a.room=f.clientWidth-30;
if(!b)draw(f,drawEmpty("Waiting for the first snapshot of the cluster …"));
else drawSnapshot(f,b,a,b.ended?(b.time??0):clock.now());
if(cF&&!cF.isConnected)refocus(f,a)};
const bD=()=>{if(a_&&!aA)aA=requestAnimationFrame(ag)};
const cv=()=>{const b=H.snapshot();
if(b?.time)clock.heard(b.time);
forget(a,b);
if(a_&&!b?.ended)aw();
const az=b?endings(bg,b):[];
if(a.notices)notify(s.defaultView,az);
bD()};
const bC=(j,aT=false)=>{a_=j;
const bu=j||(a.notices&&!aT);
H.send({say:bu?"visible":"hidden",view:a.id,rows:j&&a.wide?MORE_ROWS:0});
if(j)bs.look();
else bs.end();
bD()};
const cE=finder(H,a);
const bs=historian(H,a,clock.now);
const aw=()=>{cE.find();
bs.look()};
const b3=[cE.end,bs.end,H.subscribe(cv),actions(f,H,a,{redraw:bD,more:()=>bC(a_),look:aw,recall:bs.heard,now:clock.now}),watchRows(f,a,bD),watchVisibility(f,bC)];
const dR=setInterval(bD,1000);
cv();
ag();
return()=>{clearInterval(dR);
if(aA)cancelAnimationFrame(aA);
for(const am of b3)am();
cn.remove();
f.remove()}}
function drawSnapshot(f,b,a,j){const G={filter:a.filter,window:a.window,range:a.range,sort:a.sort,held:a.held,tab:a.details?a.tab:"devices",found:foundNow(a),past:a.past};
const c=sceneOf(b,G,j);
if(c.timeline)a.shown={from:c.timeline.start,to:c.timeline.start+c.timeline.seconds};
const al=()=>((a.only?drawOnly(c,a):drawFrame(c,a)).filter(Boolean));
draw(f,al());
if(a.tab==="tasks"&&measure(f,a))draw(f,al());
if((a.tab==="runs"||a.only)&&measureRows(f,a))draw(f,al());
followLog(f,a)}
function forget(a,b){if(a.rows.size>4*MORE_ROWS)a.rows.clear();
if(!a.asked.size||!b)return;
const aV=new Set((b.actors??[]).filter((row)=>row.state!=="DEAD").map((row)=>row.actor_id));
for(const row of b.tasks??[])if(!ENDED.has(row.state))aV.add(row.task_id);
for(const u of a.asked)if(!aV.has(u))a.asked.delete(u)}
function refocus(f,a){const dx=f.querySelector('[data-act="keep"]')??f.querySelector(a.details?'[role="tab"][aria-selected="true"]':'[data-act="details"]');
(dx)?.focus({preventScroll:true})}
function unpacked(aJ){return{...aJ,devices:rowsOf(aJ.devices),tasks:rowsOf(aJ.tasks)}}
function rowsOf(table){if(!table||Array.isArray(table))return table??[];
const rows=Array.from({length:table.rows},()=>({...(table.same)}));
const bc=(g,dX)=>rows.forEach((row,v)=>{const C=dX(v);
if(C!=null)row[g]=C});
for(const[g,bF]of Object.entries(table.each??{}))bc(g,(v)=>bF[v]);
for(const[g,[dh,dE]]of Object.entries(table.of??{}))bc(g,(v)=>dh[dE[v]]);
for(const[g,b7]of Object.entries(table.within??{})){const bF=rowsOf(b7);
bc(g,(v)=>bF[v])}
for(const[g,{sizes:dO,rows:b7}]of Object.entries(table.lists??{})){const bF=rowsOf(b7);
bc(g,(v)=>bF.splice(0,dO[v]))}
return rows}
function takePlaces(s,g,dM){const ar=new Map();
const cX=(place)=>{if(!ar.has((place)))ar.set((place),dM((place)))};
const cY=(i)=>{if(i.nodeType!==1)return;
const J=(i);
if(J.classList.contains(g))cX(J);
for(const place of J.getElementsByClassName(g))cX(place)};
const bw=new MutationObserver((dI)=>{for(const[place,b9]of ar){if(place.isConnected)continue;
ar.delete(place);
b9()}
for(const bA of dI)for(const i of bA.addedNodes)if(i.isConnected)cY(i)});
bw.observe(s,{childList:true,subtree:true});
cY(s.documentElement);
return()=>{bw.disconnect();
for(const b9 of ar.values())b9()}}
function cover(place,bc){const cT=([...place.children]);
const aV=place.ownerDocument.createElement("div");
for(const N of cT)N.style.display="none";
place.append(aV);
const am=bc(aV);
return()=>{am();
aV.remove();
for(const N of cT)N.style.display=""}}
const PARTS={h,button,cell,empty,nameOf,table,rowsOf,PALETTE,age,amount,clock,count,demandWords,deviceWords,duration,plain,stateWord,colourOf,subjectOf,deviceLabels,laneName,cellWords,LAST_MINUTE,WHOLE_RUN,inSight};
function loadedFrom(y,dU,T){let G=false;
let cJ=null;
return()=>{const a9=y.get(dU);
if(a9&&!G){G=true;
import(URL.createObjectURL(new Blob([a9],{type:"text/javascript"}))).then((cb)=>{cJ=cb.default(PARTS);
T()})}
return cJ}}
function pastOf(y,T){return loadedFrom(y,"past_code",T)}
function runsOf(y,T){const cb=loadedFrom(y,"runs_code",T);
let p="";
let t=null;
return()=>{const[cA,j]=[cb(),y.get("runs")];
if(cA&&j!==p)t=cA(JSON.parse((p=j)));
return t}}
const OF="nbaccel-of-";
function sourceOf(y){let p="";
let cf=null;
let ca=false;
let cp=()=>{};
const a5=runsOf(y,()=>cp());
const bi=pastOf(y,()=>cp());
return{snapshot(){const j=y.get("snapshot");
if(j!==p){p=j;
cf=j?unpacked(JSON.parse(j)):null}
const Z=cf&&{...cf,runs:a5(),past:bi()};
return ca&&Z?{...Z,ended:true,lost:ca}:Z},subscribe(T){const c0=()=>{ca=true;
T()};
cp=T;
y.on("change:snapshot",T);
y.on("change:runs",T);
y.on("change:past_code",T);
y.on("comm_live_update",c0);
return()=>{y.off("change:snapshot",T);
y.off("change:runs",T);
y.off("change:past_code",T);
y.off("comm_live_update",c0)}},listen(bd){y.on("msg:custom",bd);
return()=>y.off("msg:custom",bd)},send:(x)=>y.send(x),retries:true}}
function render({model:y,el:di}){return mount(di,sourceOf(y),{state:newState(Boolean(y.get("details")))})}
function initialize({model:y}){const cV=new WeakMap();
return takePlaces(document,y.get("place"),(place)=>{const a=cV.get(place)??newState(place.classList.contains("nbaccel-details"));
a.only=[...place.classList].find((g)=>g.startsWith(OF))?.slice(OF.length)??"";
cV.set(place,a);
return cover(place,(aV)=>mount(aV,sourceOf(y),{state:a}))})}
export default{initialize,render};
