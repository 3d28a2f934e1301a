// A part of nbaccel's cockpit, joined from nbaccel/notebook/past/ by tools/join_cockpit.py. Change it there.
export default function(bc){const{LAST_MINUTE,WHOLE_RUN,age,button,cell,cellWords,clock,colourOf,count,deviceLabels,duration,empty,h,laneName,nameOf,plain,stateWord,subjectOf,table}=bc;
const MOST_ACCOUNTS=50;
function withAccounts(d,e){const D=e.time;
const aw=(a9,f,a3)=>new Map([...(a9??[]),...f.map((row)=>([a3(row),{...row,at:D}]))]);
return{since:e.seq,functions:aw(d?.functions,e.functions,(row)=>row.name),cells:aw(d?.cells,e.cells,(row)=>`${row.job} ${row.name}`),devices:aw(d?.devices,e.devices,(row)=>row.device),known:e.known_seconds,held:e.held_seconds,at:D,leftOut:d?d.leftOut:e.left_out,hues:{...d?.hues,...e.hues}}}
function accountsView(n,c,a){if(!n)return null;
const used=(row)=>row.device_seconds+row.devices*Math.max(0,a-row.at);
const f=(a7)=>[...a7].sort(([,z],[,A])=>used(A)-used(z)||A.seconds-z.seconds);
const[J,E]=[f(n.functions),f(n.cells).filter(([,row])=>row.name)];
const I=J.reduce((ac,[,row])=>ac+used(row),0);
const aO=([K,row],aH)=>({key:K,name:aH?cellWords(c,{job:row.job,cell:row.name}):plain(row.name),runs:String(row.runs),failed:row.failed?String(row.failed):"",took:duration(row.seconds+row.running*Math.max(0,a-row.at)),used:seconds(used(row)),share:I>0?used(row)/I:0,colour:aH?-1:colourOf({...c,hues:n.hues},row.name)});
const a$=[...n.devices.values()].reduce((ac,row)=>ac+row.devices,0);
const aL=Math.max(0,a-n.at);
const B=n.known+aL*n.devices.size;
const a0=B>0?`, devices idle ${percent(1-(n.held+aL*a$)/B)} of the time`:"";
return{total:`${seconds(I)} device-seconds in all${a0}`,functions:J.slice(0,MOST_ACCOUNTS).map((row)=>aO(row,false)),cells:E.slice(0,MOST_ACCOUNTS).map((row)=>aO(row,true)),devices:heldViews(n,c,a),more:n.leftOut+Math.max(0,J.length-MOST_ACCOUNTS)+Math.max(0,E.length-MOST_ACCOUNTS)}}
function heldViews(n,c,a){const aa=new Map([...deviceLabels(c.devices??[])].map(([row,g])=>[laneName(row),g]));
const an=(c.nodes??[]).length>1;
const bj=[...n.devices.values()].map((row)=>{const aF=row.held_seconds+row.devices*Math.max(0,a-row.at);
const[al,T,...R]=row.device.split("/");
const g=aa.get(an?row.device:`/${T}/${R.join("/")}`)??plain(`${T} ${R.join("/")}`);
const q=(c.nodes??[]).find((F)=>an&&F.node_id.startsWith(al))?.name;
const share=a>row.since?Math.min(1,aF/(a-row.since)):0;
return{key:row.device,label:[plain(q),g].filter(Boolean).join(" "),held:duration(aF),share,idle:a>row.since?percent(1-share):"unknown"}});
return bj.sort((z,A)=>z.share-A.share)}
function percent(share){return`${Math.round(100*Math.max(0,share))} %`}
function seconds(ad){return ad<100?String(Math.round(ad*10)/10):String(Math.round(ad))}
function drawAccounts({accounts:n}){if(!n)return[empty("Who used the devices is told here: device-seconds by function and by cell, and the idle share of each device. After","f.remote()")];
const{functions:J,cells:E,devices:_,more:aK}=n;
const a8=!J.length&&empty("Nothing has run yet. A remote function that is called is counted here:","f.remote()");
return[a8||h("p",{key:"total"},h("strong",{},n.total)),J.length>0&&used("By function","Function",J),E.length>0&&used("By cell","Cell",E),_.length>0&&table("By device",["Device","Held","Held share","Idle"],_.map(heldRow)),aK>0&&h("p",{class:"quiet more",key:"more"},`and ${aK} more rows`)]}
function used(bh,bk,f){const aC=f.some((row)=>row.failed);
return table(bh,[bk,"Runs",...(aC?["Failed"]:[]),"Took in all","Device-seconds","Share"],f.map((row)=>h("tr",{key:row.key},h("th",{scope:"row"},row.colour<0?null:h("span",{class:`swatch c${row.colour}`,"aria-hidden":"true"}),nameOf(row.name)),number("runs",row.runs),aC&&number("failed",row.failed),number("took",row.took),number("device-s",row.used),cell(share(row.share,row.colour),"share"))))}
function heldRow(row){return h("tr",{key:row.key},h("th",{scope:"row"},h("span",{class:"label"},row.label)),number("held",row.held),cell(share(row.share,-1),"share"),number("idle",row.idle))}
function number(aZ,V){return h("td",{class:"number","data-head":aZ},V)}
function share(bb,Y){return h("span",{class:Y<0?"bar plain":"bar","aria-hidden":"true"},h("span",{class:Y<0?"part":`part c${Y}`,style:`width:${Math.round(1000*bb)/10}%`}))}
const TRACK=20;
const GAP=8;
const DEPTH=28;
const BAND=15;
const AXIS=18;
const NARROW=640;
function drawTimeline({timeline:t,ended:aU},m){if(!t)return[];
const aA=(af,g)=>button(g,{"data-act":"window","data-window":af,"aria-pressed":String(!m.range&&m.window===af)});
const aQ=(bg,X,g)=>button(bg,{"data-act":"zoom","data-by":X,"aria-label":g,title:g});
const bi=h("div",{class:"filters",key:"tools",role:"group","aria-label":"Timeline"},aA(LAST_MINUTE,"Last minute"),aA(WHOLE_RUN,"Whole run"),aQ("+",0.5,"Zoom in"),aQ("−",2,"Zoom out"),m.range&&button("Follow",{"data-act":"follow",title:"Show what happens now"}),button("Save as Chrome trace",{"data-act":"trace"}));
const av=t.lanes.some((lane)=>lane.bars.length)||t.depth.most>0;
if(!av&&!m.range&&(aU||m.window===WHOLE_RUN))return[empty("No task has run yet. A lane for each device is drawn here, with a bar for each run of a task:","f.remote()")];
const a_=h("p",{class:"quiet small",key:"hint"},"Drag to look closer, Ctrl and the wheel or + and − to zoom, arrow keys to move, 0 for all.");
const bd=!av&&h("p",{class:"quiet",key:"quiet"},"Nothing ran in this time. A call makes a bar here: ",h("code",{},"f.remote()"));
return[bi,bd,...(av||m.range?[lanes(t,m),a_,hoverCard(t,m)]:[])]}
function lanes(t,m){const v=m.room;
const k=v<NARROW?84:116;
m.lanes={width:v,left:k,right:v-10};
const be=(v-10-k)/t.seconds;
const p=(seconds)=>round(k+seconds*be);
let u=4;
const $=[];
for(const lane of t.lanes){const r=u;
const Q=lane.tracks*TRACK;
u+=Q+GAP;
$.push(h("g",{key:lane.key},laneLabel(lane.label,k,r+Q/2),h("line",{x1:k,x2:v-10,y1:r+Q+GAP/2,y2:r+Q+GAP/2,class:"rule"}),lane.bars.map((b)=>barShape(b,p,r))))}
if(t.depth.most>0){$.push(strip(t,p,k,u));
u+=DEPTH+GAP}
const U=t.ticks.map((H)=>h("line",{key:H.label,x1:p(H.at),x2:p(H.at),y1:0,y2:u,class:"tick"}));
return h("div",{class:"scroll",key:"lanes",tabindex:"0",role:"region","aria-label":"Timeline"},axis(t,p,k,v),h("svg",{viewBox:`0 0 ${v} ${u}`,role:"img","aria-label":t.words,class:"timeline"},U,$))}
function axis({ticks:U,bands:ay},p,k,v){const ax=Math.max(0,...ay.map((s)=>s.track+1));
const Q=AXIS+ax*BAND;
const aa=U.map((H)=>h("text",{key:H.label,x:Math.min(p(H.at),v-10),y:12,class:"tick-label","text-anchor":H.label==="now"?"end":"middle"},H.label));
const $=ay.map((s)=>{const[from,r]=[p(s.from),AXIS+s.track*BAND];
const aP=Math.max(2,round(p(s.to)-from));
return h("g",{key:s.label},h("rect",{x:from,y:r,width:aP,height:BAND-2,rx:2,class:"band"},h("title",{},`cell ${s.label}`)),aP>7*s.label.length+4&&h("text",{x:from+4,y:r+BAND/2-1,class:"tick-label","dominant-baseline":"central"},s.label))});
return h("div",{class:"axis",key:"axis"},h("svg",{viewBox:`0 0 ${v} ${Q}`,class:"timeline","aria-hidden":"true"},ax>0&&laneLabel("cells",k,AXIS+(ax*BAND)/2-1),aa,$))}
function laneLabel(g,k,r){const aj=Math.floor((k-12)/6.6);
const aN=g.length>aj?`${g.slice(0,aj-1)}…`:g;
return h("text",{x:k-10,y:r,class:"lane","text-anchor":"end","dominant-baseline":"central"},aN,aN!==g&&h("title",{},g))}
function strip({depth:Z,seconds},p,k,u){const r=(N)=>round(u+DEPTH-(N/Z.most)*(DEPTH-4));
const w=Z.steps.map(({at:D,waiting:N})=>`H${p(D)}V${r(N)}`).join("");
const V=`at most ${Z.most} waited`;
return h("g",{key:"depth"},laneLabel("waiting",k,u+DEPTH/2),h("path",{class:"depth",d:`M${p(0)} ${r(0)}${w}H${p(seconds)}V${r(0)}Z`},h("title",{},V)),h("text",{x:k+4,y:u+11,class:"tick-label"},V))}
function barShape(b,p,r){const k=p(b.from);
const v=Math.max(1.5,round(p(b.to)-k));
const u=r+b.track*TRACK;
const q=b.state==="failed"?`✕ ${b.name}`:b.name;
const aX=v>8*q.length+8;
return h("g",{key:b.key},h("rect",{x:k,y:u+1,width:v,height:TRACK-2,rx:2,class:`run c${b.colour} ${b.state}`,"data-bar":b.key}),aX&&h("text",{x:k+6,y:u+TRACK/2,class:"bar-name","dominant-baseline":"central"},q))}
function hoverCard({lanes:I},{hover:ai}){const lane=ai.bar?I.find((F)=>F.bars.some((b)=>b.key===ai.bar)):null;
const b=lane?.bars.find((F)=>F.key===ai.bar);
if(!lane||!b)return null;
return h("div",{class:"hover",key:"hover",style:ai.style},h("div",{},h("span",{class:`swatch c${b.colour}`,"aria-hidden":"true"}),h("span",{class:"name"},b.name)),[lane.label,...b.facts].map((aB)=>h("div",{key:aB,class:"quiet small"},aB)))}
function round(ad){return Math.round(ad*10)/10}
const COARSE=8;
function withRuns(d,e){const aG={...d?.hues,...e.hues};
if(e.whole||!d)return{since:e.seq,whole:e,later:null,hues:aG};
const a2=e.grain_s>COARSE*d.whole.grain_s;
return{...d,since:a2?0:d.whole.seq,later:e,hues:aG}}
function pastRows(L,c,a){const{whole:ae,later:S}=L;
const a5=S??ae;
const aT={...c,hues:{...L.hues,...c.hues}};
const f=(e,aD)=>{const a4=new Map(e.kinds.map((y)=>[y.index,y]));
return(aD?e.running:e.ended).flatMap(({lane,bars:W})=>W.map((b)=>row(e,laneIn(e.lanes[lane],c),b,(a4.get(b[0])),aT,aD,a)))};
return[...f(ae,false),...(S?f(S,false):[]),...f(a5,true)]}
function row(e,lane,[,from,ao,number=1,aM=0,ap=0],y,c,aE,a){const i=e.origin+from/1000;
const x=aE?(c.ended?a:null):i+ao/1000;
const m=aE&&c.ended?"ENDED_WITH_IT":y.state==="DEAD"?"ENDED":y.state;
return{task_id:`${lane} ${y.index} ${from} ${number} ${aM}`,lane,name:plain(y.function)+(number<0?" and others":""),state:number<0?"":m,number:Math.abs(number),submitted_at:i-ap/1000,started_at:i,finished_at:x,cell:cellWords(c,y),band:y.job?"":plain(y.cell).split(" ",1)[0],colour:colourOf(c,y.function)+aM}}
function laneIn(lane,c){return(c.nodes??[]).length>1||!lane.includes("/")?lane:lane.slice(lane.indexOf("/"))}
function depthOf(f,i,j,a){const aq=new Map();
const az=(D,X)=>aq.set(D,(aq.get(D)??0)+X);
for(const row of f){const from=row.submitted_at;
const M=row.started_at??row.finished_at??a;
if(from==null||M<i||from>j||M-from<0.01)continue;
az(Math.max(0,from-i),1);
az(Math.min(j,M)-i,-1)}
let N=0;
const w=[...aq].sort((z,A)=>z[0]-A[0]).map(([D,X])=>({at:D,waiting:(N+=X)}));
return{steps:w,most:Math.max(0,...w.map((o)=>o.waiting))}}
function depthOfMeans({whole:ae,later:S},i,j){let w=[];
for(const e of S?[ae,S]:[ae]){w=w.filter((o)=>o.at<e.waiting_from-i);
e.waiting.forEach((N,a1)=>w.push({at:e.waiting_from+a1*e.waiting_step_s-i,waiting:N}))}
const d=w.filter((o)=>o.at<=0).pop();
const ab=w.filter((o)=>o.at>0&&o.at<j-i);
if(d)ab.unshift({at:0,waiting:d.waiting});
return{steps:ab,most:Math.round(10*Math.max(0,...ab.map((o)=>o.waiting)))/10}}
const PIXELS=900;
const MOST_TRACKS=6;
const MOST_BANDS=3;
function timelineOf(c,af,a,l=null,L=null){const f=L?pastRows(L,c,a):[...(c.tasks??[]),...holdingActors(c)].map((row)=>rowOf(row,c));
const aW=f.reduce((a6,row)=>Math.min(a6,row.submitted_at??row.started_at??a),a-1);
const i=l?.from??(af===WHOLE_RUN?aW:a-af);
const j=l?.to??a;
const lanes=lanesOf(c,f).map(({key:K,label:g,rows:f})=>lane(K,g,f,{from:i,to:j},a));
const ab=lanes.reduce((ac,F)=>ac+F.bars.reduce((I,b)=>I+b.number,0),0);
const V=`${count(ab,"task run")} on ${count(lanes.length,"lane")} in ${age(j-i)}`;
const Z=L?depthOfMeans(L,i,j):depthOf(f,i,j,a);
return{start:i,seconds:j-i,lanes,ticks:ticksOf(i,j,a),bands:bandsOf(f,{from:i,to:j},a),depth:Z,words:V}}
function rowOf(row,c){const Y=colourOf(c,subjectOf(row),row.actor_id||row.task_id);
return{...row,name:plain(row.name),cell:cellWords(c,row),colour:Y,band:row.job?"":plain(row.cell).split(" ",1)[0]}}
function holdingActors(c){return(c.actors??[]).filter((row)=>row.state==="ALIVE"&&row.since!=null&&Object.keys(row.device_ids??{}).length).map((row)=>({task_id:row.actor_id,actor_id:row.actor_id,name:row.class_name,state:"ALIVE",started_at:row.since,device_ids:row.device_ids,cell:row.cell,job:row.job}))}
function lanesOf(c,f){const _=(c.devices??[]).filter((row)=>row.offered!==false);
const aa=deviceLabels(c.devices??[]);
const an=new Set(_.map((row)=>row.node_id)).size>1;
const ak=new Map((c.nodes??[]).map((al)=>[al.node_id,plain(al.name)]));
const lanes=new Map(_.map((ag)=>{const g=(an?`${ak.get(ag.node_id??"")??""} `:"")+aa.get(ag);
return[laneName(ag),{key:laneName(ag),label:g,rows:[]}]}));
const am={key:"cpu",label:"CPU",rows:([])};
for(const row of f){if(row.started_at==null||row.kind==="actor creation")continue;
for(const q of lanesFor(row,lanes)){const B=lanes.get(q);
if(q===am.key)am.rows.push(row);
else if(B)B.rows.push(row);
else lanes.set(q,{key:q,label:plain(q.split("/").slice(1).join(" ")),rows:[row]})}}
return[...lanes.values(),...(am.rows.length?[am]:[])]}
function lanesFor(row,lanes){if(row.lane)return[row.lane];
const ak=Object.entries(row.device_ids??{}).flatMap(([T,at])=>at.map((R)=>laneName({node_id:row.node_id,resource:T,id:R})));
const B=(q)=>(row.node_id||lanes.has(q)?q:([...lanes.keys()].find((K)=>K.endsWith(q))??q));
return ak.length?ak.map(B):["cpu"]}
function bandsOf(f,l,a){const E=new Map();
for(const{band:s,started_at:from,finished_at:C}of f){if(!s||from==null)continue;
const B=E.get(s)??{from,to:from};
E.set(s,{from:Math.min(B.from,from),to:Math.max(B.to,C??a)})}
const x=[];
const bf=[...E].filter(([,{from,to:C}])=>from<l.to&&C>=l.from).sort((z,A)=>z[1].from-A[1].from);
return bf.map(([g,{from,to:C}])=>{const G=freeTrack(x,from,C,MOST_BANDS);
return{label:g,track:G,from:Math.max(from,l.from)-l.from,to:Math.min(C,l.to)-l.from}})}
function freeTrack(x,from,C,aj){let G=x.findIndex((j)=>j<=from+1e-6);
if(G<0)G=Math.min(x.length,aj-1);
x[G]=Math.max(x[G]??0,C);
return G}
function lane(K,g,f,l,a){const ba=f.filter((row)=>row.started_at!=null&&row.started_at<l.to&&(row.finished_at??a)>=l.from).sort((z,A)=>(z.started_at??0)-(A.started_at??0));
const x=[];
const W=merged(ba.map((row)=>barOf(row,freeTrack(x,row.started_at??a,row.finished_at??a,MOST_TRACKS),l,a)),(l.to-l.from)/PIXELS);
return{key:K,label:g,tracks:Math.max(1,Math.min(x.length,MOST_TRACKS)),bars:W}}
function barOf(row,G,l,a){const m=stateWord(row.state);
const[from,M,number]=[row.started_at??a,row.finished_at??a,row.number??1];
const ap=from-(row.submitted_at??from);
const ao=row.finished_at==null?age(M-from):duration(M-from);
const aV=[number>1?`${number} runs ${m&&`${m} `}within ${ao}`:`${m} ${ao}`.trim(),row.cell?`cell ${row.cell}`:"",ap>=1?`waited ${age(ap)} before`:"",`started ${clock(from,a)}`];
return{key:row.task_id,track:G,number,colour:row.colour,state:m,name:number>1?`${number} × ${row.name}`:row.name,of:row.name,facts:aV.filter(Boolean),from:Math.max(0,from-l.from),to:Math.min(l.to,M)-l.from}}
function merged(W,au){const aI=[];
const aJ=new Map();
for(const b of W){const d=aJ.get(b.track);
const aR=d?.of===b.of&&d.state===b.state&&b.to-b.from<au&&d.narrow&&b.from-d.to<au;
const ar=d&&b.track===MOST_TRACKS-1&&b.from<d.to-1e-6;
if(aR||ar){d.number+=b.number;
d.to=Math.max(d.to,b.to);
d.name=ar?`${d.number} runs side by side`:`${d.number} × ${b.of}`;
d.facts=[ar?`the first of ${d.of}`:`${d.number} runs ${b.state}`];
continue}
aJ.set(b.track,Object.assign(b,{narrow:b.to-b.from<au}));
aI.push(b)}
return aI}
function ticksOf(i,j,a){const w=[0.1,0.2,0.5,1,2,5,10,15,30,60,120,300,600,1800,3600,7200,21600,86400];
const o=w.find((F)=>(j-i)/F<=6)??86400;
const U=[];
for(let O=Math.ceil((a-j)/o-1e-6)*o;O<=a-i+1e-6;O+=o){const g=O<o/2?"now":`−${o<1?duration(O):age(O+1e-6).replace(/ 00 (s|min)$/,"")}`;
U.push({at:a-O-i,label:g})}
return U}
function traceOf(c,a){return(c.tasks??[]).flatMap((row)=>eventsOf(row,a))}
function eventsOf(row,a){const P=[];
const aS={task_id:row.task_id,cell:row.cell??"",state:row.state};
const ah=(aY,lane,from,C)=>({cat:row.kind??"task",name:plain(row.name),ph:"X",pid:aY,tid:lane,ts:from*1e6,dur:Math.max(0,C-from)*1e6,args:aS});
if(row.submitted_at!=null&&row.finished_at==null&&row.started_at==null){P.push(ah("waiting","waiting",row.submitted_at,a))}else if(row.submitted_at!=null&&row.started_at!=null){P.push(ah("waiting","waiting",row.submitted_at,row.started_at))}
if(row.started_at==null)return P;
const j=row.finished_at??a;
if(row.pid)P.push(ah("workers",`worker ${row.pid}`,row.started_at,j));
for(const[T,at]of Object.entries(row.device_ids??{})){for(const R of at)P.push(ah("devices",`${T} ${R}`,row.started_at,j))}
return P}
const viewOfPast={accountsView,drawAccounts,drawTimeline,timelineOf,traceOf,told:{accounting:withAccounts,runs:withRuns}};
return viewOfPast}
