// A part of nbaccel's cockpit, joined from nbaccel/notebook/past/ by tools/join_cockpit.py. Change it there.
export default function (parts) {
const { LAST_MINUTE, WHOLE_RUN, age, button, cell, cellWords, clock, colourOf, count, deviceLabels, duration, empty, h, laneName, nameOf, plain, stateWord, subjectOf, table } = parts;
const MOST_ACCOUNTS=50;
function withAccounts(before,answer){const at=answer.time;
const renewed=(old,rows,keyOf)=>new Map([...(old??[]),...rows.map((row)=>([keyOf(row),{...row,at}]))]);
return{since:answer.seq,functions:renewed(before?.functions,answer.functions,(row)=>row.name),cells:renewed(before?.cells,answer.cells,(row)=>`${row.job} ${row.name}`),devices:renewed(before?.devices,answer.devices,(row)=>row.device),known:answer.known_seconds,held:answer.held_seconds,at,leftOut:before?before.leftOut:answer.left_out,hues:{...before?.hues,...answer.hues}}}
function accountsView(accounts,snapshot,now){if(!accounts)return null;
const used=(row)=>row.device_seconds+row.devices*Math.max(0,now-row.at);
const rows=(map)=>[...map].sort(([,a],[,b])=>used(b)-used(a)||b.seconds-a.seconds);
const[functions,cells]=[rows(accounts.functions),rows(accounts.cells).filter(([,row])=>row.name)];
const all=functions.reduce((sum,[,row])=>sum+used(row),0);
const view=([key,row],isCell)=>({key,name:isCell?cellWords(snapshot,{job:row.job,cell:row.name}):plain(row.name),runs:String(row.runs),failed:row.failed?String(row.failed):"",took:duration(row.seconds+row.running*Math.max(0,now-row.at)),used:seconds(used(row)),share:all>0?used(row)/all:0,colour:isCell?-1:colourOf({...snapshot,hues:accounts.hues},row.name)});
const holding=[...accounts.devices.values()].reduce((sum,row)=>sum+row.devices,0);
const passed=Math.max(0,now-accounts.at);
const known=accounts.known+passed*accounts.devices.size;
const idle=known>0?`, devices idle ${percent(1-(accounts.held+passed*holding)/known)} of the time`:"";
return{total:`${seconds(all)} device-seconds in all${idle}`,functions:functions.slice(0,MOST_ACCOUNTS).map((row)=>view(row,false)),cells:cells.slice(0,MOST_ACCOUNTS).map((row)=>view(row,true)),devices:heldViews(accounts,snapshot,now),more:accounts.leftOut+Math.max(0,functions.length-MOST_ACCOUNTS)+Math.max(0,cells.length-MOST_ACCOUNTS)}}
function heldViews(accounts,snapshot,now){const labels=new Map([...deviceLabels(snapshot.devices??[])].map(([row,label])=>[laneName(row),label]));
const several=(snapshot.nodes??[]).length>1;
const views=[...accounts.devices.values()].map((row)=>{const held=row.held_seconds+row.devices*Math.max(0,now-row.at);
const[node,resource,...id]=row.device.split("/");
const label=labels.get(several?row.device:`/${resource}/${id.join("/")}`)??plain(`${resource} ${id.join("/")}`);
const name=(snapshot.nodes??[]).find((each)=>several&&each.node_id.startsWith(node))?.name;
const share=now>row.since?Math.min(1,held/(now-row.since)):0;
return{key:row.device,label:[plain(name),label].filter(Boolean).join(" "),held:duration(held),share,idle:now>row.since?percent(1-share):"unknown"}});
return views.sort((a,b)=>a.share-b.share)}
function percent(share){return`${Math.round(100*Math.max(0,share))} %`}
function seconds(value){return value<100?String(Math.round(value*10)/10):String(Math.round(value))}
function drawAccounts({accounts}){if(!accounts)return[empty("Who used the devices is told here: device-seconds by function and by cell, and the idle share of each device. After","f.remote()")];
const{functions,cells,devices,more}=accounts;
const nothing=!functions.length&&empty("Nothing has run yet. A remote function that is called is counted here:","f.remote()");
return[nothing||h("p",{key:"total"},h("strong",{},accounts.total)),functions.length>0&&used("By function","Function",functions),cells.length>0&&used("By cell","Cell",cells),devices.length>0&&table("By device",["Device","Held","Held share","Idle"],devices.map(heldRow)),more>0&&h("p",{class:"quiet more",key:"more"},`and ${more} more rows`)]}
function used(title,what,rows){const failed=rows.some((row)=>row.failed);
return table(title,[what,"Runs",...(failed?["Failed"]:[]),"Took in all","Device-seconds","Share"],rows.map((row)=>h("tr",{key:row.key},h("th",{scope:"row"},row.colour<0?null:h("span",{class:`swatch c${row.colour}`,"aria-hidden":"true"}),nameOf(row.name)),number("runs",row.runs),failed&&number("failed",row.failed),number("took",row.took),number("device-s",row.used),cell(share(row.share,row.colour),"share"))))}
function heldRow(row){return h("tr",{key:row.key},h("th",{scope:"row"},h("span",{class:"label"},row.label)),number("held",row.held),cell(share(row.share,-1),"share"),number("idle",row.idle))}
function number(head,words){return h("td",{class:"number","data-head":head},words)}
function share(part,colour){return h("span",{class:colour<0?"bar plain":"bar","aria-hidden":"true"},h("span",{class:colour<0?"part":`part c${colour}`,style:`width:${Math.round(1000*part)/10}%`}))}
const TRACK=20;
const GAP=8;
const DEPTH=28;
const BAND=15;
const AXIS=18;
const NARROW=640;
function drawTimeline({timeline,ended},state){if(!timeline)return[];
const choice=(window,label)=>button(label,{"data-act":"window","data-window":window,"aria-pressed":String(!state.range&&state.window===window)});
const zoom=(sign,by,label)=>button(sign,{"data-act":"zoom","data-by":by,"aria-label":label,title:label});
const tools=h("div",{class:"filters",key:"tools",role:"group","aria-label":"Timeline"},choice(LAST_MINUTE,"Last minute"),choice(WHOLE_RUN,"Whole run"),zoom("+",0.5,"Zoom in"),zoom("−",2,"Zoom out"),state.range&&button("Follow",{"data-act":"follow",title:"Show what happens now"}),button("Save as Chrome trace",{"data-act":"trace"}));
const ran=timeline.lanes.some((lane)=>lane.bars.length)||timeline.depth.most>0;
if(!ran&&!state.range&&(ended||state.window===WHOLE_RUN))return[empty("No task has run yet. A lane for each device is drawn here, with a bar for each run of a task:","f.remote()")];
const hint=h("p",{class:"quiet small",key:"hint"},"Drag to look closer, Ctrl and the wheel or + and − to zoom, arrow keys to move, 0 for all.");
const quiet=!ran&&h("p",{class:"quiet",key:"quiet"},"Nothing ran in this time. A call makes a bar here: ",h("code",{},"f.remote()"));
return[tools,quiet,...(ran||state.range?[lanes(timeline,state),hint,hoverCard(timeline,state)]:[])]}
function lanes(timeline,state){const width=state.room;
const left=width<NARROW?84:116;
state.lanes={width,left,right:width-10};
const scale=(width-10-left)/timeline.seconds;
const x=(seconds)=>round(left+seconds*scale);
let top=4;
const drawn=[];
for(const lane of timeline.lanes){const y=top;
const height=lane.tracks*TRACK;
top+=height+GAP;
drawn.push(h("g",{key:lane.key},laneLabel(lane.label,left,y+height/2),h("line",{x1:left,x2:width-10,y1:y+height+GAP/2,y2:y+height+GAP/2,class:"rule"}),lane.bars.map((bar)=>barShape(bar,x,y))))}
if(timeline.depth.most>0){drawn.push(strip(timeline,x,left,top));
top+=DEPTH+GAP}
const ticks=timeline.ticks.map((tick)=>h("line",{key:tick.label,x1:x(tick.at),x2:x(tick.at),y1:0,y2:top,class:"tick"}));
return h("div",{class:"scroll",key:"lanes",tabindex:"0",role:"region","aria-label":"Timeline"},axis(timeline,x,left,width),h("svg",{viewBox:`0 0 ${width} ${top}`,role:"img","aria-label":timeline.words,class:"timeline"},ticks,drawn))}
function axis({ticks,bands},x,left,width){const tracks=Math.max(0,...bands.map((band)=>band.track+1));
const height=AXIS+tracks*BAND;
const labels=ticks.map((tick)=>h("text",{key:tick.label,x:Math.min(x(tick.at),width-10),y:12,class:"tick-label","text-anchor":tick.label==="now"?"end":"middle"},tick.label));
const drawn=bands.map((band)=>{const[from,y]=[x(band.from),AXIS+band.track*BAND];
const wide=Math.max(2,round(x(band.to)-from));
return h("g",{key:band.label},h("rect",{x:from,y,width:wide,height:BAND-2,rx:2,class:"band"},h("title",{},`cell ${band.label}`)),wide>7*band.label.length+4&&h("text",{x:from+4,y:y+BAND/2-1,class:"tick-label","dominant-baseline":"central"},band.label))});
return h("div",{class:"axis",key:"axis"},h("svg",{viewBox:`0 0 ${width} ${height}`,class:"timeline","aria-hidden":"true"},tracks>0&&laneLabel("cells",left,AXIS+(tracks*BAND)/2-1),labels,drawn))}
function laneLabel(label,left,y){const most=Math.floor((left-12)/6.6);
const short=label.length>most?`${label.slice(0,most-1)}…`:label;
return h("text",{x:left-10,y,class:"lane","text-anchor":"end","dominant-baseline":"central"},short,short!==label&&h("title",{},label))}
function strip({depth,seconds},x,left,top){const y=(waiting)=>round(top+DEPTH-(waiting/depth.most)*(DEPTH-4));
const steps=depth.steps.map(({at,waiting})=>`H${x(at)}V${y(waiting)}`).join("");
const words=`at most ${depth.most} waited`;
return h("g",{key:"depth"},laneLabel("waiting",left,top+DEPTH/2),h("path",{class:"depth",d:`M${x(0)} ${y(0)}${steps}H${x(seconds)}V${y(0)}Z`},h("title",{},words)),h("text",{x:left+4,y:top+11,class:"tick-label"},words))}
function barShape(bar,x,y){const left=x(bar.from);
const width=Math.max(1.5,round(x(bar.to)-left));
const top=y+bar.track*TRACK;
const name=bar.state==="failed"?`✕ ${bar.name}`:bar.name;
const fits=width>8*name.length+8;
return h("g",{key:bar.key},h("rect",{x:left,y:top+1,width,height:TRACK-2,rx:2,class:`run c${bar.colour} ${bar.state}`,"data-bar":bar.key}),fits&&h("text",{x:left+6,y:top+TRACK/2,class:"bar-name","dominant-baseline":"central"},name))}
function hoverCard({lanes:all},{hover}){const lane=hover.bar?all.find((each)=>each.bars.some((bar)=>bar.key===hover.bar)):null;
const bar=lane?.bars.find((each)=>each.key===hover.bar);
if(!lane||!bar)return null;
return h("div",{class:"hover",key:"hover",style:hover.style},h("div",{},h("span",{class:`swatch c${bar.colour}`,"aria-hidden":"true"}),h("span",{class:"name"},bar.name)),[lane.label,...bar.facts].map((fact)=>h("div",{key:fact,class:"quiet small"},fact)))}
function round(value){return Math.round(value*10)/10}
const COARSE=8;
function withRuns(before,answer){const hues={...before?.hues,...answer.hues};
if(answer.whole||!before)return{since:answer.seq,whole:answer,later:null,hues};
const isCoarse=answer.grain_s>COARSE*before.whole.grain_s;
return{...before,since:isCoarse?0:before.whole.seq,later:answer,hues}}
function pastRows(past,snapshot,now){const{whole,later}=past;
const latest=later??whole;
const coloured={...snapshot,hues:{...past.hues,...snapshot.hues}};
const rows=(answer,goOn)=>{const kinds=new Map(answer.kinds.map((kind)=>[kind.index,kind]));
return(goOn?answer.running:answer.ended).flatMap(({lane,bars})=>bars.map((bar)=>row(answer,laneIn(answer.lanes[lane],snapshot),bar,(kinds.get(bar[0])),coloured,goOn,now)))};
return[...rows(whole,false),...(later?rows(later,false):[]),...rows(latest,true)]}
function row(answer,lane,[,from,took,number=1,shade=0,waited=0],kind,snapshot,goesOn,now){const start=answer.origin+from/1000;
const ends=goesOn?(snapshot.ended?now:null):start+took/1000;
const state=goesOn&&snapshot.ended?"ENDED_WITH_IT":kind.state==="DEAD"?"ENDED":kind.state;
return{task_id:`${lane} ${kind.index} ${from} ${number} ${shade}`,lane,name:plain(kind.function)+(number<0?" and others":""),state:number<0?"":state,number:Math.abs(number),submitted_at:start-waited/1000,started_at:start,finished_at:ends,cell:cellWords(snapshot,kind),band:kind.job?"":plain(kind.cell).split(" ",1)[0],colour:colourOf(snapshot,kind.function)+shade}}
function laneIn(lane,snapshot){return(snapshot.nodes??[]).length>1||!lane.includes("/")?lane:lane.slice(lane.indexOf("/"))}
function depthOf(rows,start,end,now){const changes=new Map();
const change=(at,by)=>changes.set(at,(changes.get(at)??0)+by);
for(const row of rows){const from=row.submitted_at;
const until=row.started_at??row.finished_at??now;
if(from==null||until<start||from>end||until-from<0.01)continue;
change(Math.max(0,from-start),1);
change(Math.min(end,until)-start,-1)}
let waiting=0;
const steps=[...changes].sort((a,b)=>a[0]-b[0]).map(([at,by])=>({at,waiting:(waiting+=by)}));
return{steps,most:Math.max(0,...steps.map((step)=>step.waiting))}}
function depthOfMeans({whole,later},start,end){let steps=[];
for(const answer of later?[whole,later]:[whole]){steps=steps.filter((step)=>step.at<answer.waiting_from-start);
answer.waiting.forEach((waiting,index)=>steps.push({at:answer.waiting_from+index*answer.waiting_step_s-start,waiting}))}
const before=steps.filter((step)=>step.at<=0).pop();
const shown=steps.filter((step)=>step.at>0&&step.at<end-start);
if(before)shown.unshift({at:0,waiting:before.waiting});
return{steps:shown,most:Math.round(10*Math.max(0,...shown.map((step)=>step.waiting)))/10}}
const PIXELS=900;
const MOST_TRACKS=6;
const MOST_BANDS=3;
function timelineOf(snapshot,window,now,range=null,past=null){const rows=past?pastRows(past,snapshot,now):[...(snapshot.tasks??[]),...holdingActors(snapshot)].map((row)=>rowOf(row,snapshot));
const first=rows.reduce((least,row)=>Math.min(least,row.submitted_at??row.started_at??now),now-1);
const start=range?.from??(window===WHOLE_RUN?first:now-window);
const end=range?.to??now;
const lanes=lanesOf(snapshot,rows).map(({key,label,rows})=>lane(key,label,rows,{from:start,to:end},now));
const shown=lanes.reduce((sum,each)=>sum+each.bars.reduce((all,bar)=>all+bar.number,0),0);
const words=`${count(shown,"task run")} on ${count(lanes.length,"lane")} in ${age(end-start)}`;
const depth=past?depthOfMeans(past,start,end):depthOf(rows,start,end,now);
return{start,seconds:end-start,lanes,ticks:ticksOf(start,end,now),bands:bandsOf(rows,{from:start,to:end},now),depth,words}}
function rowOf(row,snapshot){const colour=colourOf(snapshot,subjectOf(row),row.actor_id||row.task_id);
return{...row,name:plain(row.name),cell:cellWords(snapshot,row),colour,band:row.job?"":plain(row.cell).split(" ",1)[0]}}
function holdingActors(snapshot){return(snapshot.actors??[]).filter((row)=>row.state==="ALIVE"&&row.since!=null&&Object.keys(row.device_ids??{}).length).map((row)=>({task_id:row.actor_id,actor_id:row.actor_id,name:row.class_name,state:"ALIVE",started_at:row.since,device_ids:row.device_ids,cell:row.cell,job:row.job}))}
function lanesOf(snapshot,rows){const devices=(snapshot.devices??[]).filter((row)=>row.offered!==false);
const labels=deviceLabels(snapshot.devices??[]);
const several=new Set(devices.map((row)=>row.node_id)).size>1;
const names=new Map((snapshot.nodes??[]).map((node)=>[node.node_id,plain(node.name)]));
const lanes=new Map(devices.map((device)=>{const label=(several?`${names.get(device.node_id??"")??""} `:"")+labels.get(device);
return[laneName(device),{key:laneName(device),label,rows:[]}]}));
const rest={key:"cpu",label:"CPU",rows:([])};
for(const row of rows){if(row.started_at==null||row.kind==="actor creation")continue;
for(const name of lanesFor(row,lanes)){const known=lanes.get(name);
if(name===rest.key)rest.rows.push(row);
else if(known)known.rows.push(row);
else lanes.set(name,{key:name,label:plain(name.split("/").slice(1).join(" ")),rows:[row]})}}
return[...lanes.values(),...(rest.rows.length?[rest]:[])]}
function lanesFor(row,lanes){if(row.lane)return[row.lane];
const names=Object.entries(row.device_ids??{}).flatMap(([resource,ids])=>ids.map((id)=>laneName({node_id:row.node_id,resource,id})));
const known=(name)=>(row.node_id||lanes.has(name)?name:([...lanes.keys()].find((key)=>key.endsWith(name))??name));
return names.length?names.map(known):["cpu"]}
function bandsOf(rows,range,now){const cells=new Map();
for(const{band,started_at:from,finished_at:to}of rows){if(!band||from==null)continue;
const known=cells.get(band)??{from,to:from};
cells.set(band,{from:Math.min(known.from,from),to:Math.max(known.to,to??now)})}
const ends=[];
const seen=[...cells].filter(([,{from,to}])=>from<range.to&&to>=range.from).sort((a,b)=>a[1].from-b[1].from);
return seen.map(([label,{from,to}])=>{const track=freeTrack(ends,from,to,MOST_BANDS);
return{label,track,from:Math.max(from,range.from)-range.from,to:Math.min(to,range.to)-range.from}})}
function freeTrack(ends,from,to,most){let track=ends.findIndex((end)=>end<=from+1e-6);
if(track<0)track=Math.min(ends.length,most-1);
ends[track]=Math.max(ends[track]??0,to);
return track}
function lane(key,label,rows,range,now){const ordered=rows.filter((row)=>row.started_at!=null&&row.started_at<range.to&&(row.finished_at??now)>=range.from).sort((a,b)=>(a.started_at??0)-(b.started_at??0));
const ends=[];
const bars=merged(ordered.map((row)=>barOf(row,freeTrack(ends,row.started_at??now,row.finished_at??now,MOST_TRACKS),range,now)),(range.to-range.from)/PIXELS);
return{key,label,tracks:Math.max(1,Math.min(ends.length,MOST_TRACKS)),bars}}
function barOf(row,track,range,now){const state=stateWord(row.state);
const[from,until,number]=[row.started_at??now,row.finished_at??now,row.number??1];
const waited=from-(row.submitted_at??from);
const took=row.finished_at==null?age(until-from):duration(until-from);
const facts=[number>1?`${number} runs ${state&&`${state} `}within ${took}`:`${state} ${took}`.trim(),row.cell?`cell ${row.cell}`:"",waited>=1?`waited ${age(waited)} before`:"",`started ${clock(from,now)}`];
return{key:row.task_id,track,number,colour:row.colour,state,name:number>1?`${number} × ${row.name}`:row.name,of:row.name,facts:facts.filter(Boolean),from:Math.max(0,from-range.from),to:Math.min(range.to,until)-range.from}}
function merged(bars,pixel){const kept=[];
const last=new Map();
for(const bar of bars){const before=last.get(bar.track);
const alike=before?.of===bar.of&&before.state===bar.state&&bar.to-bar.from<pixel&&before.narrow&&bar.from-before.to<pixel;
const crowded=before&&bar.track===MOST_TRACKS-1&&bar.from<before.to-1e-6;
if(alike||crowded){before.number+=bar.number;
before.to=Math.max(before.to,bar.to);
before.name=crowded?`${before.number} runs side by side`:`${before.number} × ${bar.of}`;
before.facts=[crowded?`the first of ${before.of}`:`${before.number} runs ${bar.state}`];
continue}
last.set(bar.track,Object.assign(bar,{narrow:bar.to-bar.from<pixel}));
kept.push(bar)}
return kept}
function ticksOf(start,end,now){const steps=[0.1,0.2,0.5,1,2,5,10,15,30,60,120,300,600,1800,3600,7200,21600,86400];
const step=steps.find((each)=>(end-start)/each<=6)??86400;
const ticks=[];
for(let ago=Math.ceil((now-end)/step-1e-6)*step;ago<=now-start+1e-6;ago+=step){const label=ago<step/2?"now":`−${step<1?duration(ago):age(ago+1e-6).replace(/ 00 (s|min)$/,"")}`;
ticks.push({at:now-ago-start,label})}
return ticks}
function traceOf(snapshot,now){return(snapshot.tasks??[]).flatMap((row)=>eventsOf(row,now))}
function eventsOf(row,now){const events=[];
const args={task_id:row.task_id,cell:row.cell??"",state:row.state};
const event=(group,lane,from,to)=>({cat:row.kind??"task",name:plain(row.name),ph:"X",pid:group,tid:lane,ts:from*1e6,dur:Math.max(0,to-from)*1e6,args});
if(row.submitted_at!=null&&row.finished_at==null&&row.started_at==null){events.push(event("waiting","waiting",row.submitted_at,now))}else if(row.submitted_at!=null&&row.started_at!=null){events.push(event("waiting","waiting",row.submitted_at,row.started_at))}
if(row.started_at==null)return events;
const end=row.finished_at??now;
if(row.pid)events.push(event("workers",`worker ${row.pid}`,row.started_at,end));
for(const[resource,ids]of Object.entries(row.device_ids??{})){for(const id of ids)events.push(event("devices",`${resource} ${id}`,row.started_at,end))}
return events}
const viewOfPast={accountsView,drawAccounts,drawTimeline,timelineOf,traceOf,told:{accounting:withAccounts,runs:withRuns}};
return viewOfPast;
}
