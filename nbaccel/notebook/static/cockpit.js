// nbaccel's cockpit, joined from nbaccel/notebook/cockpit/ by tools/join_cockpit.py. Change it there.
function copyText(page,text){const clipboard=page.defaultView?.navigator.clipboard;
if(clipboard)clipboard.writeText(text).catch(()=>copySelected(page,text));
else copySelected(page,text)}
function copySelected(page,text){const field=page.createElement("textarea");
field.value=text;
field.style.position="fixed";
page.body.append(field);
field.select();
page.execCommand("copy");
field.remove()}
const STEP=0.8;
function isHere(root,words){return words.startsWith("[")&&Boolean(root.closest(".jp-Notebook"))}
async function showCell(root,words,say){const notebook=root.closest(".jp-Notebook");
const page=root.ownerDocument.defaultView;
if(!notebook||!page)return;
const prompt=words.split(" ")[0];
const found=(text)=>[...notebook.querySelectorAll(".jp-InputPrompt")].find((each)=>each.textContent===`${text}:`)?.closest(".jp-Cell");
const scroller=notebook.querySelector(".jp-WindowedPanel-outer")??notebook;
const before=scroller.scrollTop;
let cell=found(prompt);
for(let top=0;!cell&&top<scroller.scrollHeight;top+=STEP*scroller.clientHeight){scroller.scrollTop=top;
await new Promise((done)=>page.requestAnimationFrame(()=>page.requestAnimationFrame(done)));
cell=found(prompt)}
if(!cell)scroller.scrollTop=before;
cell??=found("[*]");
if(!cell)return say(`No cell of this notebook is ${prompt} any more.`);
cell.scrollIntoView({block:"center"});
(cell).focus({preventScroll:true})}
const SIZES=([[2**40,"TiB"],[2**30,"GiB"],[2**20,"MiB"],[2**10,"KiB"]]);
const ENDED=new Set(["FINISHED","FAILED","CANCELLED"]);
const RUNNING=new Set(["RUNNING","RUNNING_IN_RAY_GET","RUNNING_IN_RAY_WAIT","SUBMITTED_TO_WORKER"]);
function amount(quantity){return String(Math.round(quantity*10000)/10000)}
function size(bytes){if(bytes==null)return"unknown";
for(const[unit,word]of SIZES){if(bytes>=unit){const value=bytes/unit;
return`${value>=10||Number.isInteger(value)?Math.round(value):value.toFixed(1)} ${word}`}}
return`${bytes} B`}
function age(seconds){const whole=Math.max(0,Math.floor(seconds));
const two=(number)=>String(number).padStart(2,"0");
if(whole<60)return`${whole} s`;
if(whole<3600)return`${Math.floor(whole/60)} min ${two(whole%60)} s`;
return`${Math.floor(whole/3600)} h ${two(Math.floor((whole%3600)/60))} min`}
function duration(seconds){return seconds<9.95?`${Math.max(0,seconds).toFixed(1)} s`:age(seconds)}
function clock(time,now){const at=new Date(time*1000);
const two=(number)=>String(number).padStart(2,"0");
const[day,clockTime]=[`${two(at.getMonth()+1)}-${two(at.getDate())}`,`${two(at.getHours())}:${two(at.getMinutes())}`];
return at.toDateString()===new Date(now*1000).toDateString()?`${clockTime}:${two(at.getSeconds())}`:`${day} ${clockTime}`}
function plain(text){return(text??"").replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,(char)=>`\\u${char.charCodeAt(0).toString(16).padStart(4,"0")}`)}
function count(number,noun){return number===1||noun.endsWith("s")?`${number} ${noun}`:`${number} ${noun}s`}
function demandWords(demand){const parts=Object.entries(demand??{}).filter(([,quantity])=>quantity);
return parts.map(([name,quantity])=>`${amount(quantity)} ${plain(name)}`).join(", ")||"nothing"}
function deviceWords(ids){return Object.entries(ids??{}).filter(([,names])=>names.length).map(([name,names])=>`${plain(name)} ${names.map(plain).join(", ")}`).join("; ")}
function shortId(id){const numbered=id.length===48&&id.startsWith("000000",24);
if(numbered)return`${id.slice(0,4)}-${parseInt(id.slice(30,40),16)}`;
return id.startsWith("f".repeat(16))?id.slice(16,28):id.slice(0,12)}
function stateWord(state){if(RUNNING.has(state))return"running";
if(state.startsWith("PENDING"))return"waiting";
return state.toLowerCase().replaceAll("_"," ")}
function stateSign(word){return{running:"●",waiting:"◌",finished:"✓",failed:"✕",cancelled:"⊘","ended with it":"–",alive:"●",dead:"✕"}[word]??"◌"}
function ownerOf(snapshot,row){if(!row.job||row.job===snapshot.runtime.job||!snapshot.jobs?.length)return"";
return plain(snapshot.jobs.find((job)=>job.number===row.job)?.name??`job ${row.job}`)}
function cellWords(snapshot,row){return[ownerOf(snapshot,row),plain(row.cell)].filter(Boolean).join(" ")}
const LONG_S=60;
const MOST_RUNNING=10_000;
function endings(noticed,snapshot){const told=[];
if(noticed.running.size>MOST_RUNNING)noticed.running.clear();
for(const row of snapshot.tasks??[]){if(!ENDED.has(row.state)){if(row.started_at!=null&&!ownerOf(snapshot,row))noticed.running.add(row.task_id);
continue}
if(!noticed.running.delete(row.task_id)||row.started_at==null)continue;
const seconds=(row.finished_at??snapshot.time??0)-row.started_at;
if(seconds<LONG_S)continue;
const why=row.reason==null?row.why:snapshot.reasons?.[row.reason];
const title=`${plain(row.name)} #${shortId(row.task_id)} ${{FINISHED:"has finished",FAILED:"has failed"}[row.state]??`was ${stateWord(row.state)}`}`;
told.push({id:row.task_id,title,body:[`after ${age(seconds)}`,row.cell&&`cell ${plain(row.cell)}`,plain(why)].filter(Boolean).join(" · ")})}
return told}
async function turnNotices(page,state,say){const notices=(page)?.Notification;
if(state.notices){state.notices=false;
say("");
return}
if(!notices)return say("This browser shows no notices.");
state.notices=(await notices.requestPermission())==="granted";
say(state.notices?"The browser will tell you when a task of more than a minute ends or fails.":"The browser does not let this page show notices. Its settings for this site can change that.")}
function notify(page,told){const notices=(page)?.Notification;
if(!notices)return;
for(const{id,title,body}of told)new notices(title,{body,tag:`nbaccel-${id}`})}
const OFFERED="nbaccel-order";
function secondWay(root,source,message,taken){const pid=source.snapshot()?.runtime.pid;
const offered=new CustomEvent(OFFERED,{bubbles:true,cancelable:true,detail:{message,pid,taken}});
return!root.dispatchEvent(offered)}
const REGIONS=".scroll[data-sight]";
function watchRows(root,state,redraw){const scrolled=(event)=>{const region=(event.target);
if(!region.matches?.(REGIONS))return;
note(region,state);
redraw()};
const moved=(event)=>{const body=event.type==="pointerover"?(event.target).closest?.(`${REGIONS} tbody`):null;
const over=(body?.closest(REGIONS)??null)?.dataset.sight??"";
if(over===state.heldSight)return;
state.heldSight=over;
redraw()};
return listening(root,scrolled,moved)}
function listening(root,scrolled,moved){root.addEventListener("scroll",scrolled,true);
root.addEventListener("pointerover",moved);
root.addEventListener("pointerleave",moved);
return()=>{root.removeEventListener("scroll",scrolled,true);
root.removeEventListener("pointerover",moved);
root.removeEventListener("pointerleave",moved)}}
function measureRows(root,state){const regions=([...root.querySelectorAll(REGIONS)]);
return regions.map((region)=>note(region,state)).some(Boolean)}
function note(region,state){const name=region.dataset.sight??"";
const before=state.sights.get(name);
const rows=region.querySelectorAll("tbody tr:not(.gap)");
if(!rows.length)return false;
const height=(rows[rows.length-1].getBoundingClientRect().bottom-rows[0].getBoundingClientRect().top)/rows.length;
const same=before&&(height<8||Math.abs(height-before.row)<4);
state.sights.set(name,{top:region.scrollTop,height:Math.max(region.clientHeight,100),row:same?before.row:height});
return!same||Math.abs(before.top-region.scrollTop)>1}
const TASKS='.scroll[aria-label="Tasks"]';
function watchSight(root,state,redraw){const scrolled=(event)=>{const region=(event.target);
if(state.log&&region.matches?.(".printed"))state.log.follow=region.scrollTop+region.clientHeight>region.scrollHeight-4;
if(!region.matches?.(TASKS))return;
state.scrolled={...state.scrolled,top:region.scrollTop,height:region.clientHeight};
redraw()};
const moved=(event)=>{const over=event.type==="pointerover"&&Boolean((event.target).closest?.(`${TASKS} tbody`));
if(over===Boolean(state.held))return;
state.held=over?state.order:null;
redraw()};
return listening(root,scrolled,moved)}
function measure(root,state){const region=root.querySelector(TASKS);
const rows=region?.querySelectorAll("tr[data-task]");
if(!region||!rows?.length)return false;
const before=state.scrolled;
const first=(rows[0]).getBoundingClientRect();
const last=(rows[rows.length-1]).getBoundingClientRect();
const log=region.querySelector(".logrow")?.getBoundingClientRect().height??0;
const row=(last.bottom-first.top-(region.querySelector(".logrow ~ tr[data-task]")?log:0))/rows.length;
const same=row<8||Math.abs(row-before.row)<4;
state.scrolled={top:region.scrollTop,height:Math.max(region.clientHeight,100),row:same?before.row:row};
return!same||Math.abs(state.scrolled.top-before.top)>1}
const SAY_EVERY_MS=5000;
function speaker(state,view){let last=0;
let later;
return(words)=>{clearTimeout(later);
const wait=Math.max(0,last+SAY_EVERY_MS-Date.now());
later=setTimeout(()=>{last=Date.now();
state.said=words;
view.redraw()},state.said?wait:0)}}
const LEAST_S=0.05;
const LEAST_DRAG_PX=6;
const CARD_PX=246;
function zoomed({from,to},by,place=0.5){const length=Math.max(LEAST_S,(to-from)*by);
const at=from+(to-from)*place;
return{from:at-length*place,to:at+length*(1-place)}}
function moved({from,to},share){const by=(to-from)*share;
return{from:from+by,to:to+by}}
function keyed(key,range){if(key==="+"||key==="=")return{range:zoomed(range,0.5)};
if(key==="-")return{range:zoomed(range,2)};
if(key==="ArrowLeft")return{range:moved(range,-0.2)};
if(key==="ArrowRight")return{range:moved(range,0.2)};
return key==="0"||key==="Home"?{range:null}:null}
function placeOfCard(root,bar){const[around,box]=[root.getBoundingClientRect(),bar.getBoundingClientRect()];
const left=Math.max(8,Math.min(box.left,around.right-CARD_PX)-around.left);
const below=box.top-around.top<around.height/2?`top:${box.bottom-around.top+4}px`:`bottom:${around.bottom-box.top+4}px`;
return`left:${Math.round(left)}px;max-width:${CARD_PX-16}px;${below}`}
function watchZoom(root,state,shown,redraw){let began=null;
const svgOf=(event)=>(event.target).closest?.("svg.timeline");
const placeOf=(svg,x)=>{const box=svg.getBoundingClientRect();
const{width,left,right}=state.lanes;
return Math.min(1,Math.max(0,(((x-box.left)/box.width)*width-left)/(right-left)))};
const wheel=(event)=>{const svg=svgOf(event);
if(!svg||!(event.ctrlKey||event.metaKey))return;
event.preventDefault();
state.range=zoomed(shown(),event.deltaY>0?1.25:0.8,placeOf(svg,event.clientX));
redraw(true)};
const pressed=(event)=>{const svg=svgOf(event);
began=svg&&event.button===0?{x:event.clientX,place:placeOf(svg,event.clientX)}:null};
const released=(event)=>{const svg=root.querySelector("svg.timeline");
if(!began||!svg||Math.abs(event.clientX-began.x)<LEAST_DRAG_PX)return void(began=null);
const[left,right]=[began.place,placeOf(svg,event.clientX)].sort((a,b)=>a-b);
const{from,to}=shown();
const range={from:from+(to-from)*left,to:from+(to-from)*right};
if(range.to-range.from>=LEAST_S)state.range=range;
began=null;
redraw(true)};
const hovered=(event)=>{const bar=event.type==="pointerover"?((event.target).closest?.("[data-bar]"))?.dataset.bar??"":"";
if(bar===state.hover.bar)return;
state.hover={bar,style:bar&&placeOfCard(root,(event.target))};
redraw(false)};
const key=(event)=>{const onLanes=(event.target).matches?.('.scroll[aria-label="Timeline"]');
const done=onLanes&&!event.ctrlKey&&!event.metaKey?keyed(event.key,shown()):null;
if(!done)return;
state.range=done.range;
event.preventDefault();
redraw(true)};
root.addEventListener("wheel",wheel,{passive:false});
root.addEventListener("pointerdown",pressed);
root.addEventListener("pointerup",released);
root.addEventListener("pointerover",hovered);
root.addEventListener("pointerleave",hovered);
const end=()=>{root.removeEventListener("wheel",wheel);
root.removeEventListener("pointerdown",pressed);
root.removeEventListener("pointerup",released);
root.removeEventListener("pointerover",hovered);
root.removeEventListener("pointerleave",hovered)};
return{key,end}}
const TAKEN_WITHIN_MS=1500;
function actions(root,source,state,view){const waitingFor=new Map();
const say=speaker(state,view);
const order=(message,name)=>{state.doubted="";
source.send(message);
state.asked.add(message.id);
clearTimeout(waitingFor.get(message.id));
waitingFor.set(message.id,setTimeout(()=>{if(message.say!=="retry"&&secondWay(root,source,message,say))return;
say(`The kernel is busy and takes messages only between cells: ${name} is told when the running cell ends. To end the cell itself, use Stop.`)},TAKEN_WITHIN_MS));
view.redraw()};
const acts={cancel:(data)=>order({say:"cancel",id:data.id},`${data.name}`),retry:(data)=>order({say:"retry",id:data.id},`${data.name}`),kill:(data)=>order({say:"kill",id:data.id},`${data.name}`),"cancel-run":(data)=>order({say:"stop",id:data.id},`${data.name}`),doubt(data){state.doubted=data.id??"";
say(`${data.name} belongs to ${data.owner}, not to this notebook.`)},notices:()=>void turnNotices(root.ownerDocument.defaultView,state,say).then(view.more),sure:(data)=>void(state.doubted=data.id??""),"cancel-many":(data)=>order({say:"cancel-many",id:data.id,function:data.function,filter:{state:data.state,cell:data.cell,text:data.text}},`${data.name}`),keep(){state.doubted="";
say("")},logs(data){delete state.past.task_log;
state.log=state.log?.id===data.id?null:{id:data.id??"",name:data.name??"",search:"",follow:true};
view.look()},"close-log":()=>void(state.log=null),go:({cell=""})=>void(source.go?source.go(cell):showCell(root,cell,say)),details(){state.details=!state.details;
view.look()},tab(data){state.tab=data.tab??"devices";
view.look()},window(data){state.window=Number(data.window);
state.range=null;
view.look()},zoom(data){state.range=zoomed(state.shown,Number(data.by));
view.look()},follow(){state.range=null;
view.look()},"ask-more"(){state.wide=true;
view.more();
view.look()},count(data){state.details=true;
state.tab="tasks";
state.filter={state:data.state==="ended with it"?"":(data.state??""),cell:"",text:data.text??""};
view.look()},sort(data){const column=data.column??"";
state.sort={column,down:state.sort.column===column&&!state.sort.down};
state.held=null},group:(data)=>void(state.open.delete(data.function??"")||state.open.add(data.function??"")),tile:(data)=>void(state.device=state.device===data.device?"":(data.device??"")),copy(data){copyText(root.ownerDocument,data.text??"");
say(`Copied ${data.name}.`)},trace(){const snapshot=source.snapshot();
if(snapshot?.past)save(root.ownerDocument,JSON.stringify(snapshot.past.traceOf(snapshot,view.now())))}};
const clicked=(event)=>{const target=((event.target).closest?.("[data-act]"));
if(!target||target.hasAttribute("disabled"))return;
const act=target.dataset.act??"";
const isSecond=(event).detail>1;
if(!isSecond||!/^(cancel|kill|retry)/.test(act))acts[act]?.(target.dataset);
view.redraw()};
const typed=(event)=>{const field=(event.target);
if(field.dataset?.search&&state.log){state.log.search=field.value;
view.redraw()}
const name=(field.dataset?.filter);
if(!name)return;
state.filter={...state.filter,[name]:field.value};
view.look();
view.redraw()};
const zoom=watchZoom(root,state,()=>state.shown,(range)=>{if(range)view.look();
view.redraw()});
const key=(event)=>{if(!root.contains((event.target)))return;
zoom.key(event);
pressed(event,root,acts,view)};
const heard=source.listen((message)=>{if(message.say==="taken"){clearTimeout(waitingFor.get(message.id));
waitingFor.delete(message.id);
say(message.words??"")}else if(message.say==="found"&&message.id===state.id){state.found=message.found}else if(message.say==="history"&&message.id===state.id){view.recall(message)}
view.redraw()});
const ends=[watchSight(root,state,view.redraw),zoom.end];
root.addEventListener("click",clicked);
root.addEventListener("input",typed);
const page=root.ownerDocument.defaultView;
page?.addEventListener("keydown",key,true);
return()=>{heard();
for(const end of ends)end();
for(const timer of waitingFor.values())clearTimeout(timer);
root.removeEventListener("click",clicked);
root.removeEventListener("input",typed);
page?.removeEventListener("keydown",key,true)}}
function pressed(event,root,acts,view){const target=(event.target);
if(event.key==="Escape"&&root.querySelector('[data-act="keep"]'))acts.keep({});
else if(event.key==="Escape"&&root.querySelector(".log"))acts["close-log"]({});
else if(target.getAttribute("role")==="tab"){const tabs=([...root.querySelectorAll('[role="tab"]')]);
const at=tabs.indexOf(target);
const next={ArrowRight:at+1,ArrowLeft:at-1,Home:0,End:tabs.length-1}[event.key];
if(next!==undefined){const tab=tabs[(next+tabs.length)%tabs.length];
acts.tab(tab.dataset);
tab.focus();
event.preventDefault()}}
if(event.key!=="Tab")event.stopPropagation();
view.redraw()}
function save(page,text){const link=page.createElement("a");
link.href=URL.createObjectURL(new Blob([text],{type:"application/json"}));
link.download="nbaccel-trace.json";
link.click();
setTimeout(()=>URL.revokeObjectURL(link.href),1000)}
function kernelClock(wall=()=>Date.now()/1000){let ahead=0;
return{heard(time){ahead=Math.max(ahead,time-wall())},now:()=>wall()+ahead}}
const SVG="http://www.w3.org/2000/svg";
const DRAWN=Symbol("drawn");
function h(tag,props={},...children){const{key="",...rest}=props;
return{tag,key,props:rest,children:(children.flat().filter((each)=>each||each===""))}}
function draw(parent,children){const old=([...parent.childNodes]);
const keyed=new Map(old.filter((node)=>keyOf(node)).map((node)=>[keyOf(node),node]));
const plainOnes=old.filter((node)=>!keyOf(node));
const kept=new Set();
let place=parent.firstChild;
for(const child of children){const node=matching(child,keyed,plainOnes)??created(child,parent);
kept.add(node);
update(node,child);
if(node===place)place=place.nextSibling;
else parent.insertBefore(node,place)}
for(const node of old)if(!kept.has(node))node.remove()}
function keyOf(node){return(node)[DRAWN]?.key??""}
function matching(child,keyed,others){const same=(node)=>typeof child==="string"?node.nodeType===3:(node)[DRAWN]?.tag===child.tag;
if(typeof child!=="string"&&child.key){const node=keyed.get(child.key);
keyed.delete(child.key);
return node&&same(node)?node:undefined}
const index=others.findIndex(same);
return index<0?undefined:others.splice(0,index+1)[index]}
function created(child,parent){const page=parent.ownerDocument;
if(typeof child==="string")return page.createTextNode("");
const inSvg=child.tag==="svg"||parent.namespaceURI===SVG;
const element=inSvg?page.createElementNS(SVG,child.tag):page.createElement(child.tag);
(element)[DRAWN]={tag:child.tag,key:child.key,props:{},children:[]};
return element}
function update(node,child){if(typeof child==="string"){if(node.nodeValue!==child)node.nodeValue=child;
return}
const element=(node);
const drawn=(element)[DRAWN];
if(drawn.shape===child)return;
const before=drawn.props;
for(const name of Object.keys(before))if(!(name in child.props))set(element,name,null);
for(const[name,value]of Object.entries(child.props))if(before[name]!==value)set(element,name,value);
if("value"in child.props&&(element).value!==child.props.value)set(element,"value",child.props.value);
drawn.props=child.props;
drawn.shape=child;
if(child.children.length||element.firstChild)draw(element,child.children)}
function set(element,name,value){if(name==="value")(element).value=value??"";
else if(value==null||value===false)element.removeAttribute(name);
else if(name==="style")element.setAttribute("style",value);
else element.setAttribute(name,value===true?"":String(value))}
function table(caption,columns,rows,more={}){const heads=columns.map((column,index)=>head(typeof column==="string"?{name:column}:column,index,more.sort));
return h("div",{class:"scroll",key:caption,role:"region","aria-label":caption,tabindex:"0","data-sight":more.sight??null},h("table",{"aria-rowcount":more.rows&&more.rows+1},h("caption",{class:"unseen"},caption),h("thead",{},h("tr",{},heads)),h("tbody",{},rows)))}
function head({name,sort},index,sorted){if(!sort)return h("th",{scope:"col",key:name||`c${index}`},name||h("span",{class:"unseen"},"Actions"));
const way=sorted?.column!==sort?"none":sorted.down?"descending":"ascending";
const arrow={none:"",ascending:" ↑",descending:" ↓"}[way];
return h("th",{scope:"col",key:name,"aria-sort":way},h("button",{type:"button",class:"sorts","data-act":"sort","data-column":sort},name,h("span",{"aria-hidden":"true"},arrow)))}
function nameOf(name){return h("span",{class:"name cut",title:name},name)}
function button(label,props){return h("button",{type:"button",...props},label)}
const VERBS={cancel:"Cancel",kill:"Kill",retry:"Retry"};
function endButton(act,whom,label,state){const{id,name,owner}=whom;
const about={"data-id":id,"data-name":name};
if(state.asked.has(id))return button("asked…",{...about,"aria-label":`${VERBS[act]} ${name} ${label}`,disabled:true});
if(!owner)return button(VERBS[act],{...about,"data-act":act,"aria-label":`${VERBS[act]} ${name} ${label}`});
if(state.doubted!==id){return button(`${VERBS[act]}…`,{...about,"data-act":"doubt","data-owner":owner,"aria-label":`${VERBS[act]} ${name} ${label} of ${owner}`})}
return h("span",{class:"ask nowrap"},button("Keep",{...about,"data-act":"keep","aria-label":`Keep ${name} of ${owner}`})," ",button(`${VERBS[act]} it`,{...about,"data-act":act,class:"urgent","aria-label":`${VERBS[act]} ${name} of ${owner} all the same`}))}
function chip(text){return h("span",{class:"chip"},text)}
function empty(text,code){return h("p",{class:"quiet empty",key:"empty"},text,code&&" ",code&&h("code",{},code))}
function stateCell(sign,word,colour){const own=colour!=null&&(word==="running"||word==="alive")?` ink c${colour}`:"";
return h("td",{class:`nowrap state ${word}`},h("span",{class:`sign${own}`,"aria-hidden":"true"},sign),` ${word}`)}
function whereCell(words,state){const owner=words.startsWith("[")?"":words.replace(/ \[\d+\].*/,"");
const shown=owner.length>24?[h("span",{class:"cut",title:owner},owner),words.slice(owner.length)]:[words];
return cell(words&&state.goes(words)?h("button",{type:"button",class:"goes","data-act":"go","data-cell":words,title:"Show the cell"},shown):shown,"nowrap where")}
function cell(content,kind){return h("td",kind?{class:kind}:{},content)}
const MOST_CHARACTERS=200_000;
const MOST_LINES=2_000;
function withLog(before,answer){const said=[{text:answer.out.text,err:false},{text:answer.err.text,err:true}].filter((piece)=>piece.text);
const gap=before&&(answer.out.left_out||answer.err.left_out)?[{text:"… too much was printed to show all of it …\n",err:true}]:[];
let pieces=[...(before?.pieces??[]),...gap,...said];
let size=pieces.reduce((sum,{text})=>sum+text.length,0);
while(size>MOST_CHARACTERS&&pieces.length>1){size-=pieces[0].text.length;
pieces=pieces.slice(1)}
return{pieces,out:answer.out.to,err:answer.err.to,over:answer.over,pid:answer.pid?String(answer.pid):"",done:answer.over&&Boolean(before?.over)&&!said.length,failure:answer.failure,yours:answer.yours??"",note:answer.note,left:before?.left||Boolean(answer.out.left_out||answer.err.left_out)}}
function logLines(pieces){const lines=[];
const open={false:null,true:null};
for(const{text,err}of pieces){const parts=text.split("\n");
parts.forEach((part,index)=>{const line=open[String(err)]??{text:"",err};
if(open[String(err)]===null&&(part||index<parts.length-1))lines.push(line);
line.text+=part;
open[String(err)]=index<parts.length-1?null:lines.includes(line)?line:null})}
return lines.map(({text,err})=>({text:plain(text.replace(/\r+$/,"").split("\r").at(-1)?.replaceAll("\t","    ")),err}))}
function logRow(state,columns){const log=state.log;
if(!log)return null;
const known=(state.past.task_log?.data??null);
return h("tr",{key:`log/${log.id}`,class:"logrow"},h("td",{colspan:columns},h("section",{class:"log","aria-label":`Log of ${log.name}`},logHead(log,known),...failureOf(known),printed(log,known))))}
function logHead(log,known){return h("div",{class:"line",key:"head"},h("strong",{},`Log of ${log.name}`),known?.pid&&h("span",{class:"quiet"},`all that its process has printed, pid ${known.pid}`),known&&!known.over&&h("span",{class:"chip"},"live"),h("label",{class:"aside quiet"},"Search ",h("input",{type:"search","data-search":"log",value:log.search,"aria-label":`Search the log of ${log.name}`})),button("Close",{"data-act":"close-log","aria-label":"Close the log"}))}
function failureOf(known){if(!known?.failure)return[];
const whole=h("pre",{tabindex:"0","aria-label":"The whole traceback"},known.failure);
if(!known.yours||known.yours===known.failure)return[h("div",{key:"failure",class:"failure"},whole)];
return[h("div",{key:"failure",class:"failure"},h("pre",{tabindex:"0","aria-label":"Your code in the traceback"},known.yours),h("details",{open:true},h("summary",{},"The whole traceback"),whole))]}
function printed(log,known){if(!known)return h("p",{class:"quiet",key:"none"},"Asking the kernel …");
const all=logLines(known.pieces);
const search=log.search.trim().toLowerCase();
const found=search?all.filter(({text})=>text.toLowerCase().includes(search)):all;
const nothing=known.note||(search&&all.length?"No line has this text.":known.over?"It has printed nothing.":"It has printed nothing yet.");
const notes=[search&&all.length&&`${found.length} of ${count(all.length,"line")}`,known.left&&"the beginning is only in %accel_logs",found.length>MOST_LINES&&`the last ${MOST_LINES} lines`].filter(Boolean);
return h("div",{key:"printed"},notes.length>0&&h("p",{class:"quiet",role:"status"},notes.join(" · ")),found.length?h("pre",{class:"printed",tabindex:"0","aria-label":"What it has printed"},found.slice(-MOST_LINES).map(({text,err},index)=>h("span",{key:`l${index}`,class:err?"err":null},`${text}\n`))):h("p",{class:"quiet"},nothing))}
function followLog(root,state){const region=state.log?.follow&&root.querySelector(".printed");
if(region)region.scrollTop=region.scrollHeight}
const FIND_EVERY_MS=1000;
const FOUND_AT_FIRST=200;
const MOST_FOUND=1000;
function findKey({filter,wide}){return filter.state||filter.cell||filter.text.trim()?JSON.stringify([filter,wide]):""}
function foundNow(state){const key=findKey(state);
return key&&state.found?.key===key?state.found:null}
function finder(source,state){let last=0;
let asked="";
let later;
const ask=()=>{clearTimeout(later);
later=undefined;
const key=state.details&&state.tab==="tasks"?findKey(state):"";
if(!key)return;
last=Date.now();
asked=key;
source.send({say:"find",id:state.id,key,filter:state.filter,limit:state.wide?MOST_FOUND:FOUND_AT_FIRST})};
const find=()=>{if(findKey(state)!==asked)ask();
else later??=setTimeout(ask,Math.max(0,last+FIND_EVERY_MS-Date.now()))};
return{find,end:()=>clearTimeout(later)}}
function laneName(device){return`${(device.node_id??"").slice(0,12)}/${device.resource}/${device.id}`}
const KEPT_S=120;
const LETTERS="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const MOST_DEVICES=128;
function hasLines(snapshot){const devices=snapshot.devices??[];
return devices.length<=MOST_DEVICES&&devices.some((row)=>row.metrics)}
function withReadings(before,answer){const same=before?.origin===answer.origin&&before?.step===answer.step_s?before:null;
const end=answer.first+answer.steps;
const first=Math.max(end-Math.round(KEPT_S/answer.step_s),same?same.first:answer.first);
const lines=new Map();
answer.devices.forEach((ending,index)=>{const name=answer.prefix+ending;
const known=same?.lines.get(name);
const line=(part,scale=1)=>Array.from({length:end-first},(_,at)=>{const step=first+at-answer.first;
const old=step<0?known?.[part][first+at-(same?.first??0)]:null;
if(step<0)return old==null?null:old*scale;
const level=LETTERS.indexOf(answer[part][index*answer.steps+step]);
return level<0?null:level/(LETTERS.length-1)});
const all={utilisation:line("utilisation"),memory:line("memory"),power:line("power",same?same.watts/answer.power_watts:1)};
lines.set(name,all).set(name.slice(name.indexOf("/")),all)});
return{since:answer.seq,origin:answer.origin,step:answer.step_s,first,watts:answer.power_watts,lines}}
function linesOf(readings,row){return readings?.lines.get(laneName(row))??null}
function rowsQuestion(state,snapshot){const due=(id)=>state.past[`rows/${id}`]?.due??0;
const[record]=(snapshot.runs?.open(state)??[]).sort((a,b)=>due(a)-due(b));
return record?{ask:"rows",key:`rows/${record}`,record}:null}
function placeOf({ask,key}){return ask==="rows"?key:ask}
function withRows(before,answer){const rows=new Map(before?.rows);
for(const[key,row]of Object.entries(answer.rows))rows.set(key,row);
return{since:answer.seq,total:answer.total,rows}}
const LAST_MINUTE=60;
const WHOLE_RUN=0;
let views=0;
function newState(details){views+=1;
return{id:`nbaccel-${views}-${Math.random().toString(36).slice(2,8)}`,details,tab:"devices",filter:{state:"",cell:"",text:""},sort:{column:"",down:false},held:null,order:[],open:new Set(),device:"",scrolled:{top:0,height:460,row:46},sights:new Map(),heldSight:"",only:"",wide:false,window:LAST_MINUTE,range:null,shown:{from:0,to:1},lanes:{width:1000,left:110,right:990},room:1000,hover:{bar:"",style:""},rows:new Map(),asked:new Set(),doubted:"",found:null,retries:false,goes:()=>false,said:"",log:null,notices:false,past:{}}}
const LEAST_PAUSE_MS=250;
const LATE_MS=10_000;
const MINUTES_TOLD=3;
function questionOf(state,snapshot,now){const{engine,pid}=snapshot.runtime;
const cluster=`${engine} ${pid??""} ${snapshot.nodes?.[0]?.node_id??""}`;
if(state.only)return rowsQuestion(state,snapshot);
const view=state.details?state.tab:"devices";
if(view==="runs")return rowsQuestion(state,snapshot);
if(view==="devices"&&hasLines(snapshot))return{ask:"readings",key:cluster};
if(view==="tasks"&&state.log){const[key,known]=[`${cluster} ${state.log.id}`,state.past.task_log];
const text=known?.key===key?known.data:null;
return text?.done?null:{ask:"task_log",key,task_id:state.log.id,out_since:text?.out??0,err_since:text?.err??0}}
if(view==="accounting")return{ask:"accounting",key:cluster};
if(view!=="timeline")return null;
if(state.range)return{ask:"runs",key:`${cluster} ${state.range.from} ${state.range.to}`,start:state.range.from,end:state.range.to};
if(state.window===WHOLE_RUN)return{ask:"runs",key:`${cluster} all`};
const known=state.past.runs;
const recent=known?.start&&known.key===`${cluster} last`&&now-known.start<MINUTES_TOLD*LAST_MINUTE;
return{ask:"runs",key:`${cluster} last`,start:recent?known.start:now-state.window}}
function historian(source,state,now){let last=0;
let later;
let asked=-LATE_MS;
const load=()=>{if(Date.now()-asked<LATE_MS)return;
asked=Date.now();
source.send({say:"past"})};
let looks=true;
const look=()=>{looks=true;
clearTimeout(later);
const snapshot=source.snapshot();
const question=snapshot&&!snapshot.ended?questionOf(state,snapshot,now()):null;
if(!question)return;
if(!["readings","task_log","rows"].includes(question.ask)&&!snapshot?.past)return void load();
const place=placeOf(question);
const known=state.past[place];
const same=known?.key===question.key&&known.start===question.start;
const wait=Math.max(same?known.due:0,last+LEAST_PAUSE_MS)-Date.now();
if(wait>0)return void(later=setTimeout(look,wait));
last=Date.now();
const data=same||question.ask==="runs"?(known?.data??null):null;
state.past[place]={key:question.key,start:question.start,due:last+LATE_MS,data};
source.send({say:"history",id:state.id,...question,since:same?(data?.since??0):0})};
const heard=(message)=>{const past=state.past[placeOf(message)];
if(past?.key!==message.key)return;
const answer=JSON.parse(message.answer);
const told={readings:withReadings,task_log:withLog,rows:withRows}[(message.ask)]??source.snapshot()?.past?.told[message.ask];
if(told)past.data=told(past.data,answer);
past.due=Date.now()+1000*answer.pause_s;
const goesOn=message.ask==="task_log"||(message.ask==="rows"&&!answer.pause_s);
if(goesOn&&looks)look()};
const end=()=>{looks=false;
clearTimeout(later)};
return{look,heard,end}}
const HEIGHT=16;
function shape(levels,filled=false){const points=levels.map((level,at)=>(level==null?null:`${at} ${Math.round(10*(HEIGHT-1-level*(HEIGHT-2)))/10}`));
let path="";
let began=-1;
points.forEach((point,at)=>{if(point!=null)path+=(points[at-1]==null?"M":"L")+point;
if(point!=null&&points[at-1]==null)began=at;
if(point!=null&&points[at+1]==null&&filled)path+=`L${at} ${HEIGHT}L${began} ${HEIGHT}Z`});
return path}
function spark(lines,props={}){const steps=Math.max(2,...lines.map(({levels})=>levels.length));
return h("svg",{class:"spark",viewBox:`0 0 ${steps-1} ${HEIGHT}`,preserveAspectRatio:"none","aria-hidden":"true",...props},lines.map(({levels,kind})=>[kind==="area"&&h("path",{key:"under",class:"under",d:shape(levels,true)}),h("path",{key:kind,class:kind,d:shape(levels)})]).flat())}
function between(levels){const known=(levels??[]).filter((level)=>level!=null);
const percent=(level)=>`${Math.round(100*level)} %`;
return known.length>1?`between ${percent(Math.min(...known))} and ${percent(Math.max(...known))} in the last two minutes`:""}
const GROUPS=8;
function drawTiles(devices,state){return h("div",{key:"tiles"},h("ul",{class:"tiles","aria-label":"Devices"},devices.map((device)=>knownTile(device,state))),h("p",{class:"quiet small",key:"holders"},heldBy(devices),devices.some((device)=>device.lines)&&" · Lines: load (filled), memory and power (dotted) of the last two minutes."))}
function knownTile(device,state){const chosen=device.key===state.device;
const words=tileWords(device);
const content=[words,chosen,device.holders.map((holder)=>`${holder.colour}/${holder.fraction}`)].join("\n");
const known=state.rows.get(`tile ${device.key}`);
if(known?.content===content&&known.of===device.lines)return known.shape;
const shape=tile(device,words,chosen);
state.rows.set(`tile ${device.key}`,{content,shape,of:device.lines});
return shape}
function tile(device,words,chosen){const number=device.label.replace(/^\S+ /,"");
const parts=device.holders.map((holder)=>h("span",{class:`part c${holder.colour}`,style:`width:${100*holder.fraction}%`}));
return h("li",{key:device.key},h("button",{type:"button",class:"tile","data-act":"tile","data-device":device.key,"aria-expanded":String(chosen),"aria-label":words,title:words},h("span",{class:"number"},h("span",{},number),h("span",{class:"quiet"},device.utilisation?.text??"")),h("span",{class:"bar"},parts),device.lines&&spark(linesIn(device.lines))))}
function linesIn({utilisation,memory,power}){return[{levels:utilisation,kind:"area"},{levels:memory,kind:"line"},{levels:power,kind:"dots"}]}
function tileWords(device){const holders=device.holders.map((holder)=>[holder.name,holder.part,holder.cell&&`cell ${holder.cell}`,holder.owner].filter(Boolean).join(" "));
const facts=[device.utilisation?.text,device.memory?.text,device.facts,between(device.lines?.utilisation),device.reason].filter(Boolean);
return`${[device.node,device.label].filter(Boolean).join(" ")}, ${device.state}${holders.length?`: ${holders.join("; ")}`:""}${facts.map((fact)=>`, ${fact}`).join("")}`}
function heldBy(devices){const numbers=new Map();
for(const device of devices)for(const{name}of device.holders)numbers.set(name,(numbers.get(name)??0)+1);
const sorted=[...numbers].sort((a,b)=>b[1]-a[1]);
const names=sorted.slice(0,GROUPS).map(([name,number])=>(number>1?`${name} × ${number}`:name));
if(sorted.length>GROUPS)names.push(`and ${sorted.length-GROUPS} more`);
return names.length?`Held by ${names.join(", ")}`:"Nobody holds one."}
const MOST_ROWS=8;
function drawDevices(scene,state){if(!scene.devices.length){return[empty(["No accelerator.",...scene.found,"This counts two logical ones:"].join(" "),"nbaccel.init(num_gpus=2)")]}
if(scene.devices.length<=MOST_ROWS)return[models(scene.devices),rows(scene.devices,scene,state)];
const chosen=scene.devices.filter((device)=>device.key===state.device);
return[models(scene.devices),drawTiles(scene.devices,state),chosen.length>0&&rows(chosen,scene,state)]}
function models(devices){if(!sameModel(devices))return null;
const[{model,mark}]=devices;
return h("p",{class:"quiet small models",key:"models"},`${devices.length} × ${model} `,mark&&chip(mark))}
function sameModel(devices){return devices.length>1&&devices.every((device)=>device.model===devices[0].model&&device.mark===devices[0].mark)}
function rows(devices,scene,state){const measured=devices.some((device)=>device.utilisation||device.memory);
const several=devices.some((device)=>device.node);
const said=sameModel(scene.devices);
const columns=["Device",...(several?["Node"]:[]),scene.ended?"State":"In use",...(measured?["Load, memory, power"]:[]),...(scene.ended?[]:["Held by"])];
return table("Devices",columns,devices.map((device)=>row(device,{several,measured,said},scene,state)))}
function row(device,{several,measured,said},scene,state){return h("tr",{key:device.key,"data-device":device.label},h("th",{scope:"row",title:device.title||null},h("span",{class:"label"},device.label),!said&&device.mark&&chip(device.mark),!said&&h("span",{class:"quiet small model"},device.model)),several&&h("td",{class:"quiet"},device.node),h("td",{class:"use"},!scene.ended&&useBar(device),h("span",{class:"nowrap"},h("span",{class:"sign","aria-hidden":"true"},device.sign),` ${device.state}`)),measured&&h("td",{class:"load",title:device.facts},meter("utilisation",device,device.utilisation),meter("memory",device,device.memory),device.power&&meter("power",device,device.power)),!scene.ended&&h("td",{class:"holders"},holders(device,scene,state)))}
function useBar(device){const parts=device.holders.map((holder)=>h("span",{key:holder.key,class:`part c${holder.colour}`,style:`width:${100*holder.fraction}%`}));
return h("div",{class:"bar",role:"img","aria-label":`${device.label}: ${device.use}`,title:device.use},parts)}
function meter(what,device,value){if(!value)return h("div",{class:"measure quiet small"},`${what} unknown`);
const percent=Math.min(100,Math.max(0,Math.round(value.percent)));
const name=`${device.label} ${what}`;
const levels=device.lines?.[what];
const said={title:[what,between(levels)].filter(Boolean).join(": ")};
const drawn=levels?spark([{levels,kind:"area"}]):h("span",{class:"part",style:`width:${percent}%`});
const scale=what==="power"?{role:"img","aria-label":`${name} ${value.text}`}:{role:"meter","aria-label":name,"aria-valuemin":"0","aria-valuemax":"100","aria-valuenow":percent,"aria-valuetext":value.text};
return h("div",{class:"measure",...said},what==="power"&&!levels?null:h("div",{class:levels?"trend":"bar",...scale},drawn),h("span",{class:"small"},value.text))}
function holders(device,scene,state){const list=device.holders.map((holder)=>holderLine(holder,device,scene,state));
return[list.length>0&&h("ul",{},list),device.reason&&h("span",{class:"quiet"},device.reason)]}
function holderLine(holder,device,scene,state){const where=[holder.cell&&`cell ${holder.cell}`,holder.owner].filter(Boolean).join(" of ");
const facts=[holder.part,where,holder.age].filter(Boolean).join(" · ");
return h("li",{key:holder.key,title:holder.pid},h("span",{class:`swatch c${holder.colour}`,"aria-hidden":"true"}),h("span",{class:"who"},nameOf(holder.name),h("span",{class:"quiet facts"},facts)),(holder.taskId||holder.actorId)&&stop(holder,device,state))}
function stop(holder,device,state){const act=holder.taskId?"cancel":"kill";
return endButton(act,{id:holder.taskId||holder.actorId,name:holder.name,owner:holder.owner},`on ${device.label}`,state)}
function cancelMany(label,id,filter,only,state){const whom=only?` ${only}`:"";
const about={key:id,"data-id":id,"data-name":label+whom,"data-function":only,"data-state":filter.state,"data-cell":filter.cell,"data-text":filter.text};
if(state.doubted!==id)return button(`${label}…`,{...about,"data-act":"sure","aria-label":`${label}${whom}…`});
return h("span",{class:"ask nowrap",key:id},button("Keep",{...about,key:"keep","data-act":"keep"})," ",button(label,{...about,key:"do","data-act":"cancel-many",class:"urgent","aria-label":label+whom}))}
const PALETTE={hues:[["#2f96e3","#288dd6","#1a83cc"],["#da7360","#ce6b59","#c46250"],["#05948b","#008a82","#269d94"],["#af80c0","#a578b5","#9b6fac"],["#899500","#808c00","#778200"],["#7672c9","#6e6abd","#7f7cd1"],["#317f40","#3d884a","#479153"],["#9d5599","#a35b9f","#a962a4"]],failure:"#ec1c24",attention:"#c77700",waiting:"#808080",grounds:["#ffffff","#212121"]};
const HUES=PALETTE.hues.length;
const SHADES=PALETTE.hues[0].length;
function numberOf(text){let hash=2166136261;
for(let i=0;i<text.length;i++)hash=Math.imul(hash^text.charCodeAt(i),16777619);
return(hash^(hash>>>15))>>>0}
function colourOf(snapshot,subject,id){const hue=snapshot.hues?.[subject]??numberOf(subject)%HUES;
return hue*SHADES+(id?numberOf(id)%SHADES:0)}
function subjectOf(row){const whole=row.function||row.name;
return(row.kind??"task")==="task"?whole:whole.split(".",1)[0]}
function colourRules(scope){return PALETTE.hues.flat().map((colour,number)=>`${scope} .c${number}{background:${colour};fill:${colour};--c:${colour}}`).join("\n")}
const STATES=["running","waiting","failed","cancelled","finished"];
function taskCounts(snapshot){const counts=Object.fromEntries(STATES.map((state)=>[state,0]));
for(const[state,number]of Object.entries(snapshot.counts??{})){const word=stateWord(state);
counts[word]=(counts[word]??0)+number}
return counts}
function waitingViews(snapshot,now){return(snapshot.tasks??[]).filter((row)=>stateWord(row.state)==="waiting").sort((a,b)=>(a.submitted_at??0)-(b.submitted_at??0)).map((row)=>taskView(row,snapshot,now))}
function taskViews(snapshot,filter,now){const text=filter.text.trim().toLowerCase();
const rows=(snapshot.tasks??[]).filter((row)=>passes(row,snapshot,filter,text));
return rows.map((row)=>taskView(row,snapshot,now))}
function passes(row,snapshot,filter,text){if(filter.state&&stateWord(row.state)!==filter.state)return false;
if(filter.cell&&cellOf(row,snapshot)!==filter.cell)return false;
if(!text)return true;
return[row.name,row.task_id,row.cell,whyOf(row,snapshot),deviceWords(row.device_ids)].some((each)=>(each??"").toLowerCase().includes(text))}
function cellOf(row,snapshot){return row.cell?cellWords(snapshot,{job:row.job,cell:row.cell.split(" ")[0]}):""}
function cellsOf(snapshot){const number=(cell)=>Number(/\[(\d+)\]$/.exec(cell)?.[1]??0);
const own=(cell)=>(cell.startsWith("[")?0:1);
const cells=new Set((snapshot.tasks??[]).map((row)=>cellOf(row,snapshot)).filter(Boolean));
return[...cells].sort((a,b)=>own(a)-own(b)||number(a)-number(b))}
function whyOf(row,snapshot){return row.reason==null?(row.why??""):(snapshot.reasons?.[row.reason]??"")}
function withoutSubject(why,row){const name=plain(row.name).replace(/\.__init__$/,"");
const cell=plain(row.cell);
if(!why.startsWith(name))return why;
let rest=why.slice(name.length+1);
if(cell&&rest.startsWith(`(cell ${cell}`))rest=rest.slice(rest.indexOf(") ")+2);
if(rest.startsWith("waits for "))return rest.includes(". ")?rest.slice(rest.indexOf(". ")+2):rest;
return rest.startsWith("asks ")?rest:why}
function taskView(row,snapshot,now){const state=stateWord(row.state);
const start=state==="waiting"?row.submitted_at:(row.started_at??row.submitted_at);
const over=ENDED.has(row.state);
return{id:row.task_id,short:shortId(row.task_id),name:plain(row.name),sign:stateSign(state),state,devices:deviceWords(row.device_ids),pid:row.pid?String(row.pid):"",cell:cellWords(snapshot,row),owner:ownerOf(snapshot,row),age:start==null?"":age((row.finished_at??now)-start),started:row.started_at==null?"":clock(row.started_at,now),took:tookWords(row,state,now),subject:plain(subjectOf(row)),colour:colourOf(snapshot,subjectOf(row),row.actor_id||row.task_id),keys:{submitted:row.submitted_at??0,started:row.started_at??Infinity,took:row.started_at==null?-1:(row.finished_at??now)-row.started_at},peak:row.peak_memory_bytes==null?"":size(row.peak_memory_bytes),why:[row.retry_of&&`retry of #${shortId(row.retry_of)}`,row.choice?`runs as ${plain(row.choice)}`:"",withoutSubject(plain(whyOf(row,snapshot)),row)].filter(Boolean).join(": "),retryable:Boolean(row.retryable),asks:Object.keys(row.demand??{}).length?demandWords(row.demand):"",cancellable:!over&&row.state!=="ENDED_WITH_IT"}}
function tookWords(row,state,now){if(row.started_at==null)return state==="waiting"&&row.submitted_at!=null?`waits ${age(now-row.submitted_at)}`:"";
const seconds=(row.finished_at??now)-row.started_at;
if(row.finished_at!=null)return duration(seconds);
const[done,total]=row.progress??[0,0];
if(!total)return age(seconds);
const left=done>0&&done<total?`${age((seconds*(total-done))/done)} left`:"";
return[age(seconds),`${Math.round((100*done)/total)} %`,left].filter(Boolean).join(" · ")}
function actorViews(snapshot,now){return(snapshot.actors??[]).map((row)=>actorView(row,snapshot,now))}
function actorView(row,snapshot,now){const state=row.state==="PENDING_CREATION"?"waiting":stateWord(row.state);
return{id:row.actor_id,name:plain(row.class_name)+(row.name?` “${plain(row.name)}”`:""),sign:stateSign(state),state,devices:deviceWords(row.device_ids),pid:row.pid?String(row.pid):"",cell:cellWords(snapshot,row),owner:ownerOf(snapshot,row),age:row.since==null?"":age(now-row.since),colour:colourOf(snapshot,row.class_name,row.actor_id),calls:row.pending_calls?String(row.pending_calls):"",why:[row.restarts?`restarted ${row.restarts} ×`:"",plain(row.why)].filter(Boolean).join(" · "),alive:row.state!=="DEAD"}}
const MOST_OF_ONE=8;
const ORDER=["running","failed","waiting","cancelled","finished"];
const OVERSCAN=12;
const KEYS={task:(task)=>`${task.name}\n${task.short}`,state:(task)=>place(task.state),devices:(task)=>task.devices||"~",started:(task)=>task.keys.started,took:(task)=>task.keys.took};
function place(state){const at=ORDER.indexOf(state);
return at<0?ORDER.length:at}
function ordered(tasks,sort,held){const key=KEYS[sort.column];
const usual=(a,b)=>place(a.state)-place(b.state)||b.keys.submitted-a.keys.submitted;
const compare=(a,b)=>{if(!key)return usual(a,b);
const[one,other]=[key(a),key(b)];
const way=one<other?-1:one>other?1:0;
return(sort.down?-way:way)||usual(a,b)};
const sorted=[...tasks].sort(compare);
if(!held)return sorted;
const before=new Map(held.map((id,index)=>[id,index]));
return sorted.sort((a,b)=>(before.get(a.id)??held.length)-(before.get(b.id)??held.length))}
function grouped(tasks,open){const bySubject=new Map();
for(const task of tasks){const same=bySubject.get(task.subject);
if(same)same.push(task);
else bySubject.set(task.subject,[task])}
const rows=[];
for(const task of tasks){const same=bySubject.get(task.subject)??[];
if(same.length<=MOST_OF_ONE)rows.push({task,inGroup:false});
else if(same[0]===task)rows.push(...groupRows(same,open.has(task.subject)))}
return rows}
function groupRows(tasks,open){const counts=new Map();
for(const task of tasks)counts.set(task.state,(counts.get(task.state)??0)+1);
const done=counts.get("finished")??0;
const others=STATES.filter((state)=>state!=="finished"&&counts.get(state)).map((state)=>`${counts.get(state)} ${state}`);
const group={subject:tasks[0].subject,tasks,open,done,words:[`${done} of ${tasks.length}`,...others].join(" · ")};
return[{group},...(open?tasks.map((task)=>({task,inGroup:true})):[])]}
function alike(waiting){const groups=new Map();
for(const task of waiting){const key=`${task.name}\n${task.why}\n${task.asks}`;
const group=groups.get(key)??{task,number:0,ids:[]};
group.number+=1;
group.ids.push(task.id);
groups.set(key,group)}
return[...groups.values()].sort((a,b)=>b.number-a.number)}
function inSight(number,scrolled){const seen=Math.ceil(scrolled.height/scrolled.row)+2*OVERSCAN;
const first=Math.max(0,Math.min(Math.floor(scrolled.top/scrolled.row)-OVERSCAN,number-seen));
return{first,last:Math.min(number,first+seen)}}
function drawWaiting(scene,state){if(!scene.counts.waiting)return[empty("Nothing waits. A task that finds no free device waits here, with the reason:","train.options(num_gpus=1).remote()")];
const groups=alike(scene.waiting);
const rows=groups.map(({task,number})=>h("tr",{key:task.id,"data-task":task.id},nameCell(task,number),cell(task.asks,"nowrap"),whereCell(task.cell,state),cell(task.age,"short"),cell(task.why||h("span",{class:"quiet"},"asked for, not looked at yet"),"why"),cell(number>1?showAll(task,number):cancel(task,scene,state),"acts")));
const more=scene.counts.waiting-scene.waiting.length;
return[rows.length>0&&table("Waiting tasks",["Task","Asks for","Cell","For","Why it waits",""],rows),more>0&&moreLine(`and ${more} more that wait`,state),scene.counts.waiting>1&&!scene.ended&&h("p",{key:"all"},cancelMany("Cancel all that wait","waiting",{state:"waiting",cell:"",text:""},"",state))]}
function showAll(task,number){return button(`Show all ${number}`,{"data-act":"count","data-state":"waiting","data-text":task.name,"aria-label":`Show all ${number} ${task.name} that wait`})}
function nameCell(task,number){return h("th",{scope:"row"},nameOf(task.name),h("span",{class:"quiet small below"},number>1?`× ${number}`:`#${task.short}`))}
function cancel(task,scene,state){if(!task.cancellable||scene.ended)return null;
return endButton("cancel",task,`#${task.short}`,state)}
function moreLine(text,state){return h("p",{class:"more",key:"unsent"},h("span",{class:"quiet"},`${text} `),!state.wide&&button("Ask for more rows",{"data-act":"ask-more"}))}
function drawActors(scene,state){if(!scene.actors.length)return[empty("No actor. A remote class that is called makes one:","Counter.remote()")];
const rows=scene.actors.map((actor)=>h("tr",{key:actor.id,"data-actor":actor.id},h("th",{scope:"row"},nameOf(actor.name),h("span",{class:"quiet small below"},[`#${actor.id.slice(0,8)}`,actor.pid&&`pid ${actor.pid}`].filter(Boolean).join(" · "))),stateCell(actor.sign,actor.state,actor.colour),cell(actor.devices,"nowrap"),whereCell(actor.cell,state),cell(actor.age,"short"),h("td",{"data-head":"calls waiting"},actor.calls),cell(actor.why,"why"),cell(actor.alive&&!scene.ended&&endButton("kill",actor,`#${actor.id.slice(0,8)}`,state),"acts")));
return[table("Actors",["Actor","State","Devices","Cell","Age","Calls waiting","Why",""],rows),scene.actorsMore>0&&h("p",{class:"quiet more",key:"more"},`and ${scene.actorsMore} more actors`)]}
function drawAlerts(scene){if(!scene.alerts.length)return[empty("No alert. Failures, leaks, lost devices and requests that can never be met are told here, such as:","f.options(num_gpus=1000).remote()")];
return[h("ul",{class:"alerts",key:"alerts"},scene.alerts.map((alert)=>h("li",{key:alert.key},h("strong",{},h("span",{"aria-hidden":"true"},"⚠ "),alert.kind),` ${alert.message}`,h("span",{class:"quiet"},` ${alert.age} ago`))))]}
function drawNodes(scene){const rows=scene.nodes.map((node)=>h("tr",{key:node.key},h("th",{scope:"row"},h("span",{class:"name"},node.name)),stateCell(node.sign,node.state),cell(node.role),cell(node.resources),cell(node.why,"why")));
return[table("Nodes",["Node","State","Role","Resources","Why"],rows)]}
function drawTasks(scene,state){const filled={peak:scene.tasks.some((task)=>task.peak),why:scene.tasks.some((task)=>task.why)};
state.order=scene.tasks.map((task)=>task.id);
const rows=state.sort.column?scene.tasks.map((task)=>({task,inGroup:false})):grouped(scene.tasks,state.open);
const hidden=scene.tasksFound-scene.tasks.length;
const unsent=scene.foundInAll?hidden:scene.taskTotal-scene.taskRows;
return[filters(scene,state),rows.length?tableOf(rows,filled,scene,state):nothingFound(scene),unsent>0&&moreLine(`${scene.tasks.length} of ${scene.foundInAll?scene.tasksFound:scene.taskTotal} tasks are here`,state)]}
function tableOf(rows,filled,scene,state){const columns=[{name:"Task",sort:"task"},{name:"State",sort:"state"},{name:"Devices",sort:"devices"},"Cell",{name:"Started",sort:"started"},{name:"Took",sort:"took"},...(filled.peak?["Peak memory"]:[]),...(filled.why?["Why"]:[]),""];
const{first,last}=inSight(rows.length,state.scrolled);
const drawn=rows.slice(first,last).flatMap((row)=>{if("group"in row)return[groupRow(row.group,columns.length,scene,state)];
const shape=knownRow(row.task,row.inGroup,filled,scene,state);
return state.log?.id===row.task.id?[shape,logRow(state,columns.length)]:[shape]});
const{row}=state.scrolled;
return table("Tasks",columns,[gap("above",first*row),...drawn,gap("below",(rows.length-last)*row)].filter(Boolean),{rows:rows.length,sort:state.sort})}
function gap(where,height){return height>0&&h("tr",{key:where,class:"gap","aria-hidden":"true",style:`height:${Math.round(height)}px`})}
function nothingFound(scene){if(!scene.taskTotal)return empty("No task yet. A remote function that is called makes one:","f.remote()");
return empty(scene.foundInAll?"No task passes the filter.":"No task of these rows passes the filter.")}
function groupRow(group,columns,scene,state){const{subject,tasks,open,done,words}=group;
const partly=scene.taskTotal>scene.taskRows&&!scene.foundInAll?` (of the ${scene.taskRows} rows that are here)`:"";
return h("tr",{key:`group/${subject}`,class:"group","data-function":subject},h("th",{scope:"row",colspan:columns},h("button",{type:"button",class:"opens","data-act":"group","data-function":subject,"aria-expanded":String(open)},h("span",{"aria-hidden":"true"},open?"▾ ":"▸ "),nameOf(subject)),h("span",{class:"bar","aria-hidden":"true"},h("span",{class:`part c${tasks[0].colour}`,style:`width:${(100*done)/tasks.length}%`})),h("span",{class:"quiet"},words+partly),!scene.ended&&tasks.some((task)=>task.cancellable)&&cancelMany("Cancel all",`group/${subject}`,state.filter,subject,state)))}
function knownRow(task,inGroup,filled,scene,state){const content=[...Object.values(task),inGroup,filled.peak,filled.why,scene.ended,state.asked.has(task.id),state.doubted===task.id,state.log?.id===task.id].join("\n");
const known=state.rows.get(task.id);
if(known?.content===content)return known.shape;
const shape=taskRow(task,inGroup,filled,scene,state);
state.rows.set(task.id,{content,shape});
return shape}
function taskRow(task,inGroup,filled,scene,state){const below=[`#${task.short}`,task.pid&&`pid ${task.pid}`].filter(Boolean).join(" · ");
return h("tr",{key:task.id,"data-task":task.id,class:inGroup?"inner":null},h("th",{scope:"row"},nameOf(task.name),h("span",{class:"quiet small below"},below)),stateCell(task.sign,task.state,task.colour),cell(task.devices||task.asks,task.devices?"nowrap":"quiet nowrap"),whereCell(task.cell,state),cell(task.started,"nowrap"),tookCell(task.took),filled.peak&&cell(task.peak,"nowrap"),filled.why&&cell(task.why&&h("span",{class:"two-lines",title:task.why},task.why),task.why?"why":""),cell([cancel(task,scene,state),task.retryable&&state.retries&&!scene.ended&&endButton("retry",task,`#${task.short}`,state),logs(task,scene,state)],"acts"))}
function tookCell(took){const[time,...far]=took.split(" · ");
return cell([time,far.length>0&&[" ",h("span",{class:"quiet small below"},far.join(" · "))]].flat(),"short")}
function logs(task,scene,state){if(task.state==="waiting"||scene.ended)return null;
return button("Log",{"data-act":"logs","data-id":task.id,"data-name":task.name,"aria-expanded":String(state.log?.id===task.id),"aria-label":`Log of ${task.name} #${task.short}`})}
function filters(scene,state){const{filter}=state;
const option=(value,label,chosen)=>h("option",{key:value||"all",value,selected:value===chosen},label);
return h("div",{class:"filters",role:"group","aria-label":"Filter tasks",key:"filters"},h("label",{},"State ",h("select",{"data-filter":"state",value:filter.state},option("","all",filter.state),STATES.map((word)=>option(word,`${word} (${scene.counts[word]??0})`,filter.state)))),h("label",{},"Cell ",h("select",{"data-filter":"cell",value:filter.cell},option("","all",filter.cell),scene.cells.map((name)=>option(name,name,filter.cell)))),h("label",{},"Text ",h("input",{type:"search","data-filter":"text",value:filter.text,placeholder:"name, id, reason"})),(filter.state||filter.cell||filter.text)&&!scene.ended&&scene.tasks.some((task)=>task.cancellable)&&cancelMany("Cancel all of these","these",filter,"",state),!scene.ended&&button("Notify me",{"data-act":"notices",class:"aside","aria-pressed":String(state.notices),title:"A notice of the browser when a task of more than a minute ends or fails"}),state.sort.column&&button("In the usual order",{"data-act":"sort","data-column":""}))}
const VIEWS={devices:drawDevices,waiting:drawWaiting,tasks:drawTasks,actors:drawActors,timeline:(scene,state)=>scene.pastViews?.drawTimeline(scene,state)??loading(scene),accounting:(scene)=>scene.pastViews?.drawAccounts(scene)??loading(scene),alerts:drawAlerts,nodes:drawNodes,runs:(scene,state)=>scene.runs?.draw(state)??[]};
const WAITING_SHOWN=3;
const ALERTS_SHOWN=2;
function drawFrame(scene,state){const body=state.details?[tabs(scene,state),panel(scene,state)]:compact(scene,state);
return[header(scene,state),...body,h("p",{class:"said",key:"said",role:"status","aria-live":"polite"},state.said)]}
function drawOnly(scene,state){const shown=scene.runs?.only(state).flat()??[];
return[...(shown.length?shown:drawEmpty("Waiting for news of it …")),h("p",{class:"said",key:"said",role:"status","aria-live":"polite"},state.said)]}
function drawEmpty(words){return[h("p",{class:"quiet",key:"none"},words)]}
function loading(scene){return[empty(scene.ended?"This view was not opened before the end.":"Asking the kernel …")]}
function header(scene,state){return h("header",{key:"header"},h("div",{class:"line"},firstLine(scene),scene.ended&&h("span",{class:"chip"},scene.ended),scene.alerts.length>0&&h("span",{class:"chip urgent"},h("span",{"aria-hidden":"true"},"⚠ "),scene.alerts.length===1?"1 alert":`${scene.alerts.length} alerts`),button(state.details?"Less":"Details",{"data-act":"details","aria-expanded":String(state.details),class:"aside"})),scene.resources.length>0&&h("div",{class:"line quiet"},scene.resources.join(" · ")))}
function firstLine(scene){const counts=Object.entries(scene.counts).filter(([,number])=>number);
const parts=[...scene.busy.map((words)=>h("strong",{key:words},words)),...counts.map(([word,number])=>button(`${number} ${word}`,{key:word,class:`count ${word}`,"data-act":"count","data-state":word,title:`Show the ${word} tasks`}))];
const said=parts.flatMap((part,index)=>(index?[h("span",{key:`dot${index}`,class:"quiet"}," · "),part]:[part]));
return h("span",{class:"first",title:scene.title.join(" · ")},said,!counts.length&&h("span",{class:"quiet"},said.length?" · no task yet":"no task yet"))}
function compact(scene,state){const told=new Set(scene.alerts.slice(0,ALERTS_SHOWN).map((alert)=>alert.never));
const all=alike(scene.waiting);
const untold=all.filter(({ids})=>!ids.some((id)=>told.has(id)));
const groups=untold.slice(0,WAITING_SHOWN);
const waiting=groups.map(({task,number})=>h("li",{key:task.id},h("span",{class:"sign","aria-hidden":"true"},"◌ "),number>1&&`× ${number} `,nameOf(task.name),` waits ${task.age}: `,h("span",{class:"quiet"},task.why||task.asks)));
const said=all.filter((group)=>!untold.includes(group)||groups.includes(group));
const more=scene.counts.waiting-said.reduce((sum,group)=>sum+group.number,0);
if(more>0)waiting.push(h("li",{key:"more",class:"quiet"},`and ${more} more that wait`));
const moving=scene.nodes.filter((node)=>node.moves).map((node)=>h("li",{key:node.key},h("span",{class:"sign","aria-hidden":"true"},`${node.sign} `),nameOf(node.name),` ${node.state} `,h("span",{class:"quiet"},node.why)));
const alerts=scene.alerts.slice(0,ALERTS_SHOWN).map((alert)=>h("li",{key:alert.key},h("strong",{},"⚠ Attention:"),` ${alert.message}`));
return[...drawDevices(scene,state),...(scene.runs?.brief(state)??[]),moving.length>0&&h("ul",{class:"lines",key:"nodes","aria-label":"Nodes that come and go"},moving),waiting.length>0&&h("ul",{class:"lines",key:"waiting","aria-label":"Waiting tasks"},waiting),alerts.length>0&&h("ul",{class:"alerts",key:"alerts","aria-label":"Alerts"},alerts)]}
function tabs(scene,state){return h("div",{class:"tabs",role:"tablist","aria-label":"Views",key:"tabs"},scene.tabs.map((tab)=>{const chosen=tab.id===state.tab;
return h("button",{type:"button",key:tab.id,role:"tab",id:`${state.id}-${tab.id}`,"aria-selected":String(chosen),"aria-controls":`${state.id}-panel`,tabindex:chosen?"0":"-1","data-act":"tab","data-tab":tab.id},tab.urgent&&h("span",{"aria-hidden":"true"},"⚠ "),tab.label,tab.badge>0&&h("span",{class:tab.failed?"badge failed":"badge",title:tab.failed?"failed":null},String(tab.badge)))}))}
function panel(scene,state){const view=VIEWS[state.tab]??drawDevices;
return h("div",{role:"tabpanel",id:`${state.id}-panel`,"aria-labelledby":`${state.id}-${state.tab}`,tabindex:"-1",key:`panel-${state.tab}`,class:"panel"},...view(scene,state).flat())}
const LONG_ID=20;
function deviceLabels(rows){const kind=(row)=>`${row.node_id??""}/${row.resource}`;
const taken=new Set(rows.filter((row)=>!row.parent).map((row)=>`${kind(row)}/${row.id}`));
const cards=new Map();
const labels=new Map();
for(const row of rows){if(!row.parent){labels.set(row,`${plain(row.resource)} ${short(row.id)}`);
continue}
const key=`${kind(row)}/${row.parent}`;
const card=cards.get(key)??{number:firstFree(kind(row),taken),instances:0};
cards.set(key,card);
const profile=row.profile?` (${plain(row.profile)})`:"";
labels.set(row,`${plain(row.resource)} ${card.number} · MIG ${card.instances++}${profile}`)}
return labels}
function firstFree(kind,taken){let number=0;
while(taken.has(`${kind}/${number}`))number+=1;
taken.add(`${kind}/${number}`);
return number}
function short(id){return plain(id).length>LONG_ID?`${plain(id).slice(0,12)}…`:plain(id)}
function deviceViews(snapshot,now,readings=null){const rows=(snapshot.devices??[]).filter((row)=>row.offered!==false);
const several=new Set(rows.map((row)=>row.node_id)).size>1;
const names=new Map((snapshot.nodes??[]).map((node)=>[node.node_id,plain(node.name)]));
const labels=deviceLabels(snapshot.devices??[]);
return rows.map((row)=>({...deviceView(row,labels.get(row)??"",several?(names.get(row.node_id??"")??row.node_id?.slice(0,8)??""):"",snapshot,now),lines:row.metrics?linesOf(readings,row):null}))}
function deviceView(row,label,node,snapshot,now){const[sign,state]=deviceState(row);
const holders=holderViews(row.holders??[],snapshot,now);
return{key:`${row.node_id??""}/${row.resource}/${row.id}`,label,title:row.parent?plain(row.id):"",node,model:[plain(row.name||row.type||row.family),row.parent?"":plain(row.profile)].filter(Boolean).join(" · "),mark:(row.kind??"real")==="real"?"":(row.kind??""),sign,state,use:useWords(holders),utilisation:utilisation(row),memory:memory(row),power:power(row),facts:facts(row),reason:plain(row.free_reason),holders}}
function deviceState(row){const held=row.holders?.length;
if(row.over)return["–","given back"];
if(row.free_reason&&!held)return["✕","busy"];
if(!held)return["○","free"];
return(row.free??1)>0?["◐","shared"]:["●","held"]}
function holderViews(holders,snapshot,now){const ids=holders.map((holder)=>holder.task_id??holder.actor_id??holder.name);
return holders.map((holder,index)=>({key:ids[index],name:plain(holder.name),part:(holder.amount??1)===1?"":amount(holder.amount??1),cell:plain(holder.cell),owner:ownerOf(snapshot,holder),age:holder.since?age(now-holder.since):"",pid:holder.pid?`pid ${holder.pid}`:"",colour:colourOf(snapshot,holder.function||holder.name,holder.actor_id??ids[index]),fraction:Math.min(1,Math.max(0,holder.amount??1)),taskId:holder.task_id??"",actorId:holder.task_id?"":(holder.actor_id??"")}))}
function useWords(holders){if(!holders.length)return"nobody holds it";
return holders.map((holder)=>`${holder.name} ${holder.part||"1"}`).join(", ")}
function utilisation(row){const percent=row.metrics?.utilisation_percent;
return percent==null?null:{percent,text:`${Math.round(percent)} %`}}
function memory(row){const used=row.metrics?.memory_used_bytes;
const total=row.metrics?.memory_total_bytes??row.memory_bytes;
if(used==null||!total)return null;
return{percent:(100*used)/total,text:`${size(used)} of ${size(total)}`}}
function power(row){const watts=row.metrics?.power_watts;
return watts==null?null:{percent:0,text:`${Math.round(watts)} W`}}
function facts(row){const parts=[];
if(row.metrics?.temperature_celsius!=null)parts.push(`${Math.round(row.metrics.temperature_celsius)} °C`);
if(row.metrics?.power_watts!=null)parts.push(`${Math.round(row.metrics.power_watts)} W`);
return parts.join(" · ")}
function afterEnd(snapshot){const{shared}=snapshot.runtime;
const is=(state)=>(ENDED.has(state)?state:"ENDED_WITH_IT");
const tasks=(snapshot.tasks??[]).map((row)=>({...row,state:is(row.state),reason:ENDED.has(row.state)?row.reason:null}));
const counts={};
for(const[state,number]of Object.entries(snapshot.counts??{}))counts[is(state)]=(counts[is(state)]??0)+number;
if(shared)delete counts.ENDED_WITH_IT;
return{...snapshot,devices:(snapshot.devices??[]).map((row)=>({...row,holders:[],free_reason:"",metrics:null,over:true})),tasks:shared?tasks.filter((row)=>ENDED.has(row.state)):tasks,counts,actors:(snapshot.actors??[]).map((row)=>({...row,state:"DEAD",pending_calls:0})),actor_counts:{}}}
const HIDDEN_RESOURCES=/^(node:|accelerator_type:|bundle_)|^(memory|object_store_memory)$|_group_/;
const BY_STATE={column:"",down:false};
const NO_FILTER={state:"",cell:"",text:""};
function sceneOf(given,asked,now){const ended=given.lost?"the kernel has gone":!given.ended?"":given.runtime.shared?"left":"shut down";
const snapshot=ended?afterEnd(given):given;
const counts=taskCounts(snapshot);
const tab=asked.tab;
const runs=snapshot.runs?.(now,ended!=="",snapshot);
const tasks=tab==="tasks"?tasksOf(snapshot,asked,now):[];
return{title:titleOf(snapshot),ended,counts,busy:ended?[]:busyOf(snapshot),resources:resourcesOf(snapshot,ended!==""),tabs:tabsOf(snapshot,counts,runs),devices:deviceViews(snapshot,now,tab==="devices"?asked.past?.readings?.data:null),found:(snapshot.found??[]).map(plain),waiting:waitingViews(snapshot,now),tasks,tasksFound:asked.found?.total??tasks.length,foundInAll:Boolean(asked.found),taskRows:(snapshot.tasks??[]).length,taskTotal:Object.values(counts).reduce((sum,number)=>sum+number,0),cells:tab==="tasks"?cellsOf(snapshot):[],actors:tab==="actors"?actorViews(snapshot,now):[],actorsMore:actorsMore(snapshot),runs,pastViews:snapshot.past,timeline:tab==="timeline"&&snapshot.past?snapshot.past.timelineOf(snapshot,asked.window,now,asked.range,asked.past?.runs?.data):null,accounts:tab==="accounting"&&snapshot.past?snapshot.past.accountsView(asked.past?.accounting?.data,snapshot,now):null,alerts:alertsOf(snapshot,now),nodes:nodesOf(snapshot,now)}}
function tasksOf(snapshot,asked,now){const found=asked.found;
const rows=found?{...snapshot,tasks:found.tasks,reasons:found.reasons}:snapshot;
return ordered(taskViews(rows,found?NO_FILTER:asked.filter,now),asked.sort??BY_STATE,asked.held??null)}
function titleOf(snapshot){const{engine,version,pid,shared}=snapshot.runtime;
const alive=(snapshot.nodes??[]).filter((node)=>node.alive!==false).length;
return["nbaccel "+plain(version),`${plain(engine)} engine`,alive>1?count(alive,"node"):"",pid?`head pid ${pid}`:"",shared?"shared by several notebooks":""].filter(Boolean)}
function busyOf(snapshot){const held=new Map();
for(const row of snapshot.devices??[]){if(row.offered===false)continue;
const isHeld=Boolean(row.holders?.length||row.free_reason);
held.set(row.resource,[...(held.get(row.resource)??[]),isHeld])}
if(held.size)return[...held].map(([name,each])=>`${each.filter(Boolean).length} of ${count(each.length,plain(name))} busy`);
const sum=(of)=>(snapshot.nodes??[]).reduce((all,node)=>all+(node.alive===false?0:(node[of]?.CPU??0)),0);
return sum("totals")?[`${amount(sum("totals")-sum("available"))} of ${amount(sum("totals"))} CPUs busy`]:[]}
function resourcesOf(snapshot,ended){const sums=new Map();
for(const node of snapshot.nodes??[]){for(const[name,total]of node.alive===false?[]:Object.entries(node.totals??{})){if(HIDDEN_RESOURCES.test(name))continue;
const[free,all]=sums.get(name)??[0,0];
sums.set(name,[free+(node.available?.[name]??0),all+total])}}
return[...sums].map(([name,[free,all]])=>`${plain(name)} ${ended?amount(all):`${amount(free)} of ${amount(all)} free`}`)}
function tabsOf(snapshot,counts,runs){const alerts=(snapshot.alerts??[]).length;
const actors=(snapshot.actors??[]).filter((row)=>row.state!=="DEAD").length+actorsMore(snapshot);
const tabs=[{id:"devices",label:"Devices",badge:0,urgent:false},{id:"waiting",label:"Waiting",badge:counts.waiting,urgent:false},{id:"tasks",label:"Tasks",badge:counts.failed,urgent:false,failed:true},{id:"actors",label:"Actors",badge:actors,urgent:false},{id:"timeline",label:"Timeline",badge:0,urgent:false},{id:"accounting",label:"Accounting",badge:0,urgent:false},{id:"alerts",label:"Alerts",badge:alerts,urgent:alerts>0}];
if(runs)tabs.push({id:"runs",label:"Runs",badge:runs.active,urgent:false});
if((snapshot.nodes??[]).length>1||snapshot.arrivals?.length)tabs.push({id:"nodes",label:"Nodes",badge:0,urgent:false});
return tabs}
function actorsMore(snapshot){const shown=(snapshot.actors??[]).filter((row)=>row.state!=="DEAD").length;
const all=Object.entries(snapshot.actor_counts??{}).filter(([state])=>state!=="DEAD");
return Math.max(0,all.reduce((sum,[,number])=>sum+number,0)-shown)}
function alertsOf(snapshot,now){return(snapshot.alerts??[]).map((alert,index)=>({key:`${alert.since}/${index}`,kind:plain(alert.kind),message:plain(alert.message),age:age(now-alert.since),never:(alert.kind==="infeasible"&&alert.task_id)||"-"})).reverse()}
function nodesOf(snapshot,now){const here=(snapshot.nodes??[]).map((node)=>({key:node.node_id,name:plain(node.name),sign:node.alive===false?"✕":"●",state:node.alive===false?"gone":"alive",role:node.is_head?"head":"",resources:resourcesOf({...snapshot,nodes:[node]},Boolean(snapshot.ended)).join(" · "),why:plain(node.why)||whyOfNode(node,now),moves:(node.leaves_at??0)>now}));
const coming=(snapshot.arrivals??[]).map((each)=>({key:each.id,name:plain(each.node_type),sign:"◌",state:"arriving",role:"",resources:"",moves:true,why:`for ${duration(now-(each.since??now))}${each.usually_s?` (usually ${duration(each.usually_s)})`:""}${each.state?`: ${plain(each.state)}`:""}`}));
return[...here,...coming]}
function whyOfNode(node,now){if(node.kept_by)return`stays: ${plain(node.kept_by)}`;
if(!node.leaves_at||!node.idle_since)return"";
const left=node.leaves_at-now;
return`idle for ${duration(now-node.idle_since)}, ${left>0?`leaves in ${duration(left)}`:"kept for a request or its type's min"}`}
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
function watchVisibility(element,changed){const page=element.ownerDocument;
const windows=page.defaultView??window;
let onScreen=false;
let last=null;
const look=(leaving=false)=>{const visible=onScreen&&!leaving&&page.visibilityState!=="hidden";
if(visible!==last){last=visible;
changed(visible,leaving)}else if(leaving)changed(false,true)};
const observer=new IntersectionObserver((entries)=>{onScreen=entries[entries.length-1].isIntersecting;
look()});
const turned=()=>look();
const leaving=()=>look(true);
observer.observe(element);
page.addEventListener("visibilitychange",turned);
windows.addEventListener("pagehide",leaving);
return()=>{observer.disconnect();
page.removeEventListener("visibilitychange",turned);
windows.removeEventListener("pagehide",leaving);
look(true)}}
const MORE_ROWS=1000;
function mount(place,source,options={}){const page=place.ownerDocument;
const root=page.createElement("div");
const style=page.createElement("style");
style.textContent=STYLE;
root.className="nbaccel-cockpit";
root.dataset.lmSuppressShortcuts="true";
place.append(style,root);
const state=options.state??newState(options.details??false);
state.goes=(cell)=>Boolean(source.go)||isHere(root,cell);
state.retries=Boolean(source.retries);
const clock=kernelClock();
let visible=false;
const noticed={running:(new Set())};
let waiting=0;
const redraw=()=>{waiting=0;
const snapshot=source.snapshot();
const focused=root.contains(page.activeElement)?page.activeElement:null;
if(root.clientWidth)state.room=root.clientWidth-30;
if(!snapshot)draw(root,drawEmpty("Waiting for the first snapshot of the cluster …"));
else drawSnapshot(root,snapshot,state,snapshot.ended?(snapshot.time??0):clock.now());
if(focused&&!focused.isConnected)refocus(root,state)};
const soon=()=>{if(visible&&!waiting)waiting=requestAnimationFrame(redraw)};
const arrived=()=>{const snapshot=source.snapshot();
if(snapshot?.time)clock.heard(snapshot.time);
forget(state,snapshot);
if(visible&&!snapshot?.ended)look();
const told=snapshot?endings(noticed,snapshot):[];
if(state.notices)notify(page.defaultView,told);
soon()};
const seen=(now,leaving=false)=>{visible=now;
const looks=now||(state.notices&&!leaving);
source.send({say:looks?"visible":"hidden",view:state.id,rows:now&&state.wide?MORE_ROWS:0});
if(now)history.look();
else history.end();
soon()};
const finding=finder(source,state);
const history=historian(source,state,clock.now);
const look=()=>{finding.find();
history.look()};
const ends=[finding.end,history.end,source.subscribe(arrived),actions(root,source,state,{redraw:soon,more:()=>seen(visible),look,recall:history.heard,now:clock.now}),watchRows(root,state,soon),watchVisibility(root,seen)];
const ticking=setInterval(soon,1000);
arrived();
redraw();
return()=>{clearInterval(ticking);
if(waiting)cancelAnimationFrame(waiting);
for(const end of ends)end();
style.remove();
root.remove()}}
function drawSnapshot(root,snapshot,state,now){const asked={filter:state.filter,window:state.window,range:state.range,sort:state.sort,held:state.held,tab:state.details?state.tab:"devices",found:foundNow(state),past:state.past};
const scene=sceneOf(snapshot,asked,now);
if(scene.timeline)state.shown={from:scene.timeline.start,to:scene.timeline.start+scene.timeline.seconds};
const drawn=()=>((state.only?drawOnly(scene,state):drawFrame(scene,state)).filter(Boolean));
draw(root,drawn());
if(state.tab==="tasks"&&measure(root,state))draw(root,drawn());
if((state.tab==="runs"||state.only)&&measureRows(root,state))draw(root,drawn());
followLog(root,state)}
function forget(state,snapshot){if(state.rows.size>4*MORE_ROWS)state.rows.clear();
if(!state.asked.size||!snapshot)return;
const live=new Set((snapshot.actors??[]).filter((row)=>row.state!=="DEAD").map((row)=>row.actor_id));
for(const row of snapshot.tasks??[])if(!ENDED.has(row.state))live.add(row.task_id);
for(const id of state.asked)if(!live.has(id))state.asked.delete(id)}
function refocus(root,state){const near=root.querySelector('[data-act="keep"]')??root.querySelector(state.details?'[role="tab"][aria-selected="true"]':'[data-act="details"]');
(near)?.focus({preventScroll:true})}
function unpacked(given){return{...given,devices:rowsOf(given.devices),tasks:rowsOf(given.tasks)}}
function rowsOf(table){if(!table||Array.isArray(table))return table??[];
const rows=Array.from({length:table.rows},()=>({...(table.same)}));
const fill=(name,valueOf)=>rows.forEach((row,index)=>{const value=valueOf(index);
if(value!=null)row[name]=value});
for(const[name,values]of Object.entries(table.each??{}))fill(name,(index)=>values[index]);
for(const[name,[distinct,places]]of Object.entries(table.of??{}))fill(name,(index)=>distinct[places[index]]);
for(const[name,inner]of Object.entries(table.within??{})){const values=rowsOf(inner);
fill(name,(index)=>values[index])}
for(const[name,{sizes,rows:inner}]of Object.entries(table.lists??{})){const values=rowsOf(inner);
fill(name,(index)=>values.splice(0,sizes[index]))}
return rows}
function takePlaces(page,name,show){const taken=new Map();
const take=(place)=>{if(!taken.has((place)))taken.set((place),show((place)))};
const takeWithin=(node)=>{if(node.nodeType!==1)return;
const element=(node);
if(element.classList.contains(name))take(element);
for(const place of element.getElementsByClassName(name))take(place)};
const observer=new MutationObserver((records)=>{for(const[place,leave]of taken){if(place.isConnected)continue;
taken.delete(place);
leave()}
for(const record of records)for(const node of record.addedNodes)if(node.isConnected)takeWithin(node)});
observer.observe(page,{childList:true,subtree:true});
takeWithin(page.documentElement);
return()=>{observer.disconnect();
for(const leave of taken.values())leave()}}
function cover(place,fill){const saved=([...place.children]);
const live=place.ownerDocument.createElement("div");
for(const each of saved)each.style.display="none";
place.append(live);
const end=fill(live);
return()=>{end();
live.remove();
for(const each of saved)each.style.display=""}}
const PARTS={h,button,cell,empty,nameOf,table,rowsOf,PALETTE,age,amount,clock,count,demandWords,deviceWords,duration,plain,stateWord,colourOf,subjectOf,deviceLabels,laneName,cellWords,LAST_MINUTE,WHOLE_RUN,inSight};
function loadedFrom(model,trait,changed){let asked=false;
let loaded=null;
return()=>{const code=model.get(trait);
if(code&&!asked){asked=true;
import(URL.createObjectURL(new Blob([code],{type:"text/javascript"}))).then((module)=>{loaded=module.default(PARTS);
changed()})}
return loaded}}
function pastOf(model,changed){return loadedFrom(model,"past_code",changed)}
function runsOf(model,changed){const module=loadedFrom(model,"runs_code",changed);
let text="";
let view=null;
return()=>{const[drawing,now]=[module(),model.get("runs")];
if(drawing&&now!==text)view=drawing(JSON.parse((text=now)));
return view}}
const OF="nbaccel-of-";
function sourceOf(model){let text="";
let parsed=null;
let lost=false;
let tell=()=>{};
const runs=runsOf(model,()=>tell());
const past=pastOf(model,()=>tell());
return{snapshot(){const now=model.get("snapshot");
if(now!==text){text=now;
parsed=now?unpacked(JSON.parse(now)):null}
const shown=parsed&&{...parsed,runs:runs(),past:past()};
return lost&&shown?{...shown,ended:true,lost}:shown},subscribe(changed){const unplugged=()=>{lost=true;
changed()};
tell=changed;
model.on("change:snapshot",changed);
model.on("change:runs",changed);
model.on("change:past_code",changed);
model.on("comm_live_update",unplugged);
return()=>{model.off("change:snapshot",changed);
model.off("change:runs",changed);
model.off("change:past_code",changed);
model.off("comm_live_update",unplugged)}},listen(heard){model.on("msg:custom",heard);
return()=>model.off("msg:custom",heard)},send:(message)=>model.send(message),retries:true}}
function render({model,el}){return mount(el,sourceOf(model),{state:newState(Boolean(model.get("details")))})}
function initialize({model}){const states=new WeakMap();
return takePlaces(document,model.get("place"),(place)=>{const state=states.get(place)??newState(place.classList.contains("nbaccel-details"));
state.only=[...place.classList].find((name)=>name.startsWith(OF))?.slice(OF.length)??"";
states.set(place,state);
return cover(place,(live)=>mount(live,sourceOf(model),{state}))})}
export default{initialize,render};
