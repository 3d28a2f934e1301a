// A part of nbaccel's cockpit, joined from nbaccel/notebook/past/ by tools/join_cockpit.py. Change it there.
export default function(bf){const{LAST_MINUTE,WHOLE_RUN,age,button,cell,cellWords,clock,colourOf,count,deviceLabels,duration,empty,h,hostWords,laneName,nameOf,plain,stateWord,subjectOf,table}=bf;
const ABOUT=20;
const MOST_ACCOUNTS=50;
function withAccounts(d,f){const z=f.time;
const ay=(bc,e,a5)=>new Map([...(bc??[]),...e.map((row)=>([a5(row),{...row,at:z}]))]);
return{since:f.seq,functions:ay(d?.functions,f.functions,(row)=>row.name),cells:ay(d?.cells,f.cells,(row)=>`${row.job} ${row.name}`),devices:ay(d?.devices,f.devices,(row)=>row.device),known:f.known_seconds,held:f.held_seconds,at:z,leftOut:d?d.leftOut:f.left_out,hues:{...d?.hues,...f.hues}}}
function accountsView(o,c,b){if(!o)return null;
const used=(row)=>row.device_seconds+row.devices*Math.max(0,b-row.at);
const e=(a9)=>[...a9].sort(([,u],[,v])=>used(v)-used(u)||v.seconds-u.seconds);
const[O,H]=[e(o.functions),e(o.cells).filter(([,row])=>row.name)];
const G=O.reduce((af,[,row])=>af+used(row),0);
const aa=([J,row],aK)=>({key:J,name:aK?cellWords(c,{job:row.job,cell:row.name}):plain(row.name),runs:String(row.runs),failed:row.failed?String(row.failed):"",took:duration(row.seconds+row.running*Math.max(0,b-row.at)),used:seconds(used(row)),share:G>0?used(row)/G:0,colour:aK?-1:colourOf({...c,hues:o.hues},row.name)});
const a1=[...o.devices.values()].reduce((af,row)=>af+row.devices,0);
const aO=Math.max(0,b-o.at);
const D=o.known+aO*o.devices.size;
const a2=D>0?`, devices idle ${percent(1-(o.held+aO*a1)/D)} of the time`:"";
return{total:`${seconds(G)} device-seconds in all${a2}`,functions:O.slice(0,MOST_ACCOUNTS).map((row)=>aa(row,false)),cells:H.slice(0,MOST_ACCOUNTS).map((row)=>aa(row,true)),devices:heldViews(o,c,b),more:o.leftOut+Math.max(0,O.length-MOST_ACCOUNTS)+Math.max(0,H.length-MOST_ACCOUNTS)}}
function heldViews(o,c,b){const Y=new Map([...deviceLabels(c.devices??[])].map(([row,i])=>[laneName(row),i]));
const ap=(c.nodes??[]).length>1;
const bm=[...o.devices.values()].map((row)=>{const aI=row.held_seconds+row.devices*Math.max(0,b-row.at);
const[C,_,...X]=row.device.split("/");
const i=Y.get(ap?row.device:`/${_}/${X.join("/")}`)??plain(`${_} ${X.join("/")}`);
const l=(c.nodes??[]).find((I)=>ap&&I.node_id.startsWith(C))?.name;
const share=b>row.since?Math.min(1,aI/(b-row.since)):0;
return{key:row.device,label:[hostWords(plain(l)),i].filter(Boolean).join(" "),held:duration(aI),share,idle:b>row.since?percent(1-share):"unknown"}});
const aN=new Map([...Y.keys()].map((J,z)=>[J,z]));
const aP=(aa)=>aN.get(aa.key)??aN.get(aa.key.slice(aa.key.indexOf("/")))??0;
return bm.sort((u,v)=>Math.round(ABOUT*u.share)-Math.round(ABOUT*v.share)||aP(u)-aP(v))}
function percent(share){return`${Math.round(100*Math.max(0,share))} %`}
function seconds(ag){return ag<100?String(Math.round(ag*10)/10):String(Math.round(ag))}
function drawAccounts({accounts:o}){if(!o)return null;
const{functions:O,cells:H,devices:ae,more:aM}=o;
const bb=!O.length&&empty("Who used the devices is told here: device-seconds by function and by cell, and the idle share of each device. After","f.remote()");
return[bb||h("p",{key:"total"},h("strong",{},o.total)),O.length>0&&used("By function","Function",O),H.length>0&&used("By cell","Cell",H),ae.length>0&&table("By device",["Device","Held","Held share","Idle"],ae.map(heldRow)),aM>0&&h("p",{class:"quiet more",key:"more"},`and ${aM} more rows`)]}
function used(bk,bn,e){const aG=e.some((row)=>row.failed);
return table(bk,[bn,"Runs",...(aG?["Failed"]:[]),"Took in all","Device-seconds","Share"],e.map((row)=>h("tr",{key:row.key},h("th",{scope:"row"},row.colour<0?null:h("span",{class:`swatch c${row.colour}`,"aria-hidden":"true"}),nameOf(row.name)),number("runs",row.runs),aG&&number("failed",row.failed),number("took",row.took),number("device-s",row.used),cell(share(row.share,row.colour),"share"))))}
function heldRow(row){return h("tr",{key:row.key},h("th",{scope:"row"},h("span",{class:"label"},row.label)),number("held",row.held),cell(share(row.share,-1),"share"),number("idle",row.idle))}
function number(a$,aB){return h("td",{class:"number","data-head":a$},aB)}
function share(be,N){return h("span",{class:N<0?"bar plain":"bar","aria-hidden":"true"},h("span",{class:N<0?"part":`part c${N}`,style:`width:${Math.round(1000*be)/10}%`}))}
const TRACK=20;
const GAP=8;
const DEPTH=28;
const BAND=15;
const AXIS=18;
const MOST_NAMES=8;
const NARROW=640;
function drawTimeline({timeline:t,ended:aX},n){if(!t)return[];
const aE=(ab,i)=>button(i,{"data-act":"window","data-window":ab,"aria-pressed":String(!n.range&&n.window===ab)});
const aT=(bj,ad,i)=>button(bj,{"data-act":"zoom","data-by":ad,"aria-label":i,title:i});
const bl=h("div",{class:"filters",key:"tools",role:"group","aria-label":"Timeline"},aE(LAST_MINUTE,"Last minute"),aE(WHOLE_RUN,"Whole run"),aT("+",0.5,"Zoom in"),aT("−",2,"Zoom out"),n.range&&button("Follow",{"data-act":"follow",title:"Show what happens now"}),button("Save as Chrome trace",{"data-act":"trace"}));
const ax=t.lanes.some((lane)=>lane.bars.length)||t.depth.most>0;
if(!ax&&!n.range&&(aX||n.window===WHOLE_RUN))return[empty("No task has run yet. A lane for each device is drawn here, with a bar for each run of a task:","f.remote()")];
const a0=h("p",{class:"quiet small",key:"hint"},"Drag to look closer, Ctrl and the wheel or + and − to zoom, arrow keys to move, 0 for all.");
const bg=!ax&&h("p",{class:"quiet",key:"quiet"},"Nothing ran in this time. A call makes a bar here: ",h("code",{},"f.remote()"));
return[bl,bg,...(ax||n.range?[lanes(t,n),names(t),a0,hoverCard(t,n)]:[])]}
function names({lanes:G}){const ao=new Map();
for(const a of G.flatMap((lane)=>lane.bars)){ao.set(a.of,{runs:(ao.get(a.of)?.runs??0)+a.number,colour:ao.get(a.of)?.colour??a.colour})}
const ba=[...ao].sort((u,v)=>v[1].runs-u[1].runs).slice(0,MOST_NAMES);
return h("p",{class:"line small",key:"names"},ba.map(([l,{runs:number,colour:N}])=>h("span",{key:l,class:"nowrap"},h("span",{class:`swatch c${N}`,"aria-hidden":"true"})," ",nameOf(l),number>1&&` × ${number}`)))}
function lanes(t,n){const x=n.room;
const k=x<NARROW?84:116;
n.lanes={width:x,left:k,right:x-10};
const bh=(x-10-k)/t.seconds;
const q=(seconds)=>round(k+seconds*bh);
let r=4;
const U=[];
let C=("");
for(const lane of t.lanes){if(lane.node&&lane.node!==C){U.push(h("text",{key:`node ${lane.node}`,x:4,y:r+BAND/2,class:"tick-label","dominant-baseline":"central"},lane.node));
r+=BAND}
C=lane.node;
const s=r;
const W=lane.tracks*TRACK;
r+=W+GAP;
U.push(h("g",{key:lane.key},laneLabel(lane.label,k,s+W/2),h("line",{x1:k,x2:x-10,y1:s+W+GAP/2,y2:s+W+GAP/2,class:"rule"}),lane.bars.map((a)=>barShape(a,q,s))))}
if(t.depth.most>0){U.push(strip(t,q,k,r));
r+=DEPTH+GAP}
const $=t.ticks.map((M)=>h("line",{key:M.label,x1:q(M.at),x2:q(M.at),y1:0,y2:r,class:"tick"}));
return h("div",{class:"scroll",key:"lanes",tabindex:"0",role:"region","aria-label":"Timeline"},axis(t,q,k,x),h("svg",{viewBox:`0 0 ${x} ${r}`,role:"img","aria-label":t.words,class:"timeline"},$,U))}
function axis({ticks:$,bands:aC},q,k,x){const aA=Math.max(0,...aC.map((w)=>w.track+1));
const W=AXIS+aA*BAND;
const Y=$.map((M)=>h("text",{key:M.label,x:Math.min(q(M.at),x-10),y:12,class:"tick-label","text-anchor":M.label==="now"?"end":"middle"},M.label));
const U=aC.map((w)=>{const[from,s]=[q(w.from),AXIS+w.track*BAND];
const aS=Math.max(2,round(q(w.to)-from));
return h("g",{key:w.label},h("rect",{x:from,y:s,width:aS,height:BAND-2,rx:2,class:"band"},h("title",{},`cell ${w.label}`)),aS>7*w.label.length+4&&h("text",{x:from+4,y:s+BAND/2-1,class:"tick-label","dominant-baseline":"central"},w.label))});
return h("div",{class:"axis",key:"axis"},h("svg",{viewBox:`0 0 ${x} ${W}`,class:"timeline","aria-hidden":"true"},aA>0&&laneLabel("cells",k,AXIS+(aA*BAND)/2-1),Y,U))}
function laneLabel(i,k,s){const E=Math.floor((k-12)/6.6);
const aR=i.length>E?`${i.slice(0,E-1)}…`:i;
return h("text",{x:k-10,y:s,class:"lane","text-anchor":"end","dominant-baseline":"central"},aR,aR!==i&&h("title",{},i))}
function strip({depth:T,seconds},q,k,r){const s=(R)=>round(r+DEPTH-(R/T.most)*(DEPTH-4));
const y=T.steps.map(({at:z,waiting:R})=>`H${q(z)}V${s(R)}`).join("");
return h("g",{key:"depth"},laneLabel("waiting",k,r+DEPTH/2-6),h("text",{x:k-10,y:r+DEPTH/2+8,class:"tick-label","text-anchor":"end","dominant-baseline":"central"},T.words),h("path",{class:"depth",d:`M${q(0)} ${s(0)}${y}H${q(seconds)}V${s(0)}Z`},h("title",{},`${T.words} waited`)))}
function barShape(a,q,s){const k=q(a.from);
const x=Math.max(1.5,round(q(a.to)-k));
const r=s+a.track*TRACK;
const l=a.state==="failed"?`✕ ${a.name}`:a.name;
const az=Math.floor((x-10)/7);
const L=l.length<=az?l:az>4?`${l.slice(0,az-1)}…`:"";
return h("g",{key:a.key},h("rect",{x:k,y:r+1,width:x,height:TRACK-2,rx:2,class:`run c${a.colour} ${a.state}`,"data-bar":a.key}),L&&h("text",{x:k+6,y:r+TRACK/2,class:`bar-name c${a.colour}`,"dominant-baseline":"central"},L))}
function hoverCard({lanes:G},{hover:al}){const lane=al.bar?G.find((I)=>I.bars.some((a)=>a.key===al.bar)):null;
const a=lane?.bars.find((I)=>I.key===al.bar);
if(!lane||!a)return null;
return h("div",{class:"hover",key:"hover",style:al.style},h("div",{},h("span",{class:`swatch c${a.colour}`,"aria-hidden":"true"}),h("span",{class:"name"},a.name)),[[lane.node,lane.label].filter(Boolean).join(" · "),...a.facts].map((aF)=>h("div",{key:aF,class:"quiet small"},aF)))}
function round(ag){return Math.round(ag*10)/10}
const COARSE=8;
function withRuns(d,f){const aJ={...d?.hues,...f.hues};
if(f.whole||!d)return{since:f.seq,whole:f,later:null,hues:aJ};
const a4=f.grain_s>COARSE*d.whole.grain_s;
return{...d,since:a4?0:d.whole.seq,later:f,hues:aJ}}
function pastRows(P,c,b){const{whole:ah,later:Z}=P;
const a7=Z??ah;
const aW={...c,hues:{...P.hues,...c.hues}};
const e=(f,aH)=>{const a6=new Map(f.kinds.map((B)=>[B.index,B]));
return(aH?f.running:f.ended).flatMap(({lane,bars:ac})=>ac.map((a)=>row(f,laneIn(f.lanes[lane],c),a,(a6.get(a[0])),aW,aH,b)))};
return[...e(ah,false),...(Z?e(Z,false):[]),...e(a7,true)]}
function row(f,lane,[,from,aq,number=1,aQ=0,ar=0],B,c,ak,b){const g=f.origin+from/1000;
const A=ak?(c.ended?b:null):g+aq/1000;
const n=ak&&c.ended?"ENDED_WITH_IT":B.state==="DEAD"?"ENDED":B.state;
return{task_id:`${lane} ${B.index} ${from} ${number} ${aQ}`,lane,name:plain(B.function)+(number<0?" and others":""),state:number<0?"":n,number:Math.abs(number),submitted_at:g-ar/1000,started_at:g,finished_at:A,cell:cellWords(c,B),band:B.job?"":plain(B.cell).split(" ",1)[0],colour:colourOf(c,B.function)+aQ}}
function laneIn(lane,c){return(c.nodes??[]).length>1||!lane.includes("/")?lane:lane.slice(lane.indexOf("/"))}
function depthOf(e,g,j,b){const at=new Map();
const aD=(z,ad)=>at.set(z,(at.get(z)??0)+ad);
for(const row of e){const from=row.submitted_at;
const Q=row.started_at??row.finished_at??b;
if(from==null||Q<g||from>j||Q-from<0.01)continue;
aD(Math.max(0,from-g),1);
aD(Math.min(j,Q)-g,-1)}
let R=0;
const y=[...at].sort((u,v)=>u[0]-v[0]).map(([z,ad])=>({at:z,waiting:(R+=ad)}));
const E=Math.max(0,...y.map((p)=>p.waiting));
return{steps:y,most:E,words:`most ${E}`}}
function depthOfMeans({whole:ah,later:Z},g,j){let y=[];
for(const f of Z?[ah,Z]:[ah]){y=y.filter((p)=>p.at<f.waiting_from-g);
f.waiting.forEach((R,a3)=>y.push({at:f.waiting_from+a3*f.waiting_step_s-g,waiting:R}))}
const d=y.filter((p)=>p.at<=0).pop();
const L=y.filter((p)=>p.at>0&&p.at<j-g);
if(d)L.unshift({at:0,waiting:d.waiting});
const E=Math.max(0,...L.map((p)=>p.waiting));
return{steps:L,most:E,words:`about ${Math.max(1,Math.round(E))}`}}
const PIXELS=900;
const MOST_TRACKS=6;
const MOST_BANDS=3;
function timelineOf(c,ab,b,m=null,P=null){const e=P?pastRows(P,c,b):[...(c.tasks??[]),...holdingActors(c)].map((row)=>rowOf(row,c));
const aZ=e.reduce((a8,row)=>Math.min(a8,row.submitted_at??row.started_at??b),b-1);
const g=m?.from??(ab===WHOLE_RUN?aZ:b-ab);
const j=m?.to??(ab===WHOLE_RUN?endOf(e,b):b);
const lanes=lanesOf(c,e).map(({key:J,label:i,node:C,rows:e})=>({...lane(J,i,e,{from:g,to:j},b),node:C}));
const L=lanes.reduce((af,I)=>af+I.bars.reduce((G,a)=>G+a.number,0),0);
const aB=`${count(L,"task run")} on ${count(lanes.length,"lane")} in ${age(j-g)}`;
const T=P?depthOfMeans(P,g,j):depthOf(e,g,j,b);
return{start:g,seconds:j-g,lanes,ticks:ticksOf(g,j,b),bands:bandsOf(e,{from:g,to:j},b),depth:T,words:aB}}
function endOf(e,b){const ak=!e.length||e.some((row)=>row.finished_at==null);
return ak?b:Math.min(b,1+e.reduce((am,row)=>Math.max(am,row.finished_at??0),0))}
function rowOf(row,c){const N=colourOf(c,subjectOf(row),row.actor_id||row.task_id);
return{...row,name:plain(row.name),cell:cellWords(c,row),colour:N,band:row.job?"":plain(row.cell).split(" ",1)[0]}}
function holdingActors(c){return(c.actors??[]).filter((row)=>row.state==="ALIVE"&&row.since!=null&&Object.keys(row.device_ids??{}).length).map((row)=>({task_id:row.actor_id,actor_id:row.actor_id,name:row.class_name,state:"ALIVE",started_at:row.since,device_ids:row.device_ids,cell:row.cell,job:row.job}))}
function lanesOf(c,e){const ae=(c.devices??[]).filter((row)=>row.offered!==false);
const Y=deviceLabels(c.devices??[]);
const ap=new Set(ae.map((row)=>row.node_id)).size>1;
const names=new Map((c.nodes??[]).map((C)=>[C.node_id,plain(C.name)]));
const lanes=new Map(ae.map((ai)=>{const C=ap?hostWords(names.get(ai.node_id??"")??""):"";
return[laneName(ai),{key:laneName(ai),label:Y.get(ai)??"",node:C,rows:[]}]}));
const an={key:"cpu",label:"CPU",node:"",rows:([])};
for(const row of e){if(row.started_at==null||row.kind==="actor creation")continue;
for(const l of lanesFor(row,lanes)){const D=lanes.get(l);
if(l===an.key)an.rows.push(row);
else if(D)D.rows.push(row);
else lanes.set(l,{key:l,label:plain(l.split("/").slice(1).join(" ")),node:"",rows:[row]})}}
return[...lanes.values(),...(an.rows.length?[an]:[])]}
function lanesFor(row,lanes){if(row.lane)return[row.lane];
const names=Object.entries(row.device_ids??{}).flatMap(([_,av])=>av.map((X)=>laneName({node_id:row.node_id,resource:_,id:X})));
const D=(l)=>(row.node_id||lanes.has(l)?l:([...lanes.keys()].find((J)=>J.endsWith(l))??l));
return names.length?names.map(D):["cpu"]}
function bandsOf(e,m,b){const H=new Map();
for(const{band:w,started_at:from,finished_at:F}of e){if(!w||from==null)continue;
const D=H.get(w)??{from,to:from};
H.set(w,{from:Math.min(D.from,from),to:Math.max(D.to,F??b)})}
const A=[];
const bi=[...H].filter(([,{from,to:F}])=>from<m.to&&F>=m.from).sort((u,v)=>u[1].from-v[1].from);
return bi.map(([i,{from,to:F}])=>{const K=freeTrack(A,from,F,MOST_BANDS);
return{label:i,track:K,from:Math.max(from,m.from)-m.from,to:Math.min(F,m.to)-m.from}})}
function freeTrack(A,from,F,E){let K=A.findIndex((j)=>j<=from+1e-6);
if(K<0)K=Math.min(A.length,E-1);
A[K]=Math.max(A[K]??0,F);
return K}
function lane(J,i,e,m,b){const bd=e.filter((row)=>row.started_at!=null&&row.started_at<m.to&&(row.finished_at??b)>=m.from).sort((u,v)=>(u.started_at??0)-(v.started_at??0));
const A=[];
const ac=merged(bd.map((row)=>barOf(row,freeTrack(A,row.started_at??b,row.finished_at??b,MOST_TRACKS),m,b)),(m.to-m.from)/PIXELS);
return{key:J,label:i,tracks:Math.max(1,Math.min(A.length,MOST_TRACKS)),bars:ac}}
function barOf(row,K,m,b){const n=stateWord(row.state);
const[from,Q,number]=[row.started_at??b,row.finished_at??b,row.number??1];
const ar=from-(row.submitted_at??from);
const aq=row.finished_at==null?age(Q-from):duration(Q-from);
const aY=[number>1?`${number} runs ${n&&`${n} `}within ${aq}`:`${n} ${aq}`.trim(),row.cell?`cell ${row.cell}`:"",ar>=1?`waited ${age(ar)} before`:"",`started ${clock(from,b)}`];
return{key:row.task_id,track:K,number,colour:row.colour,state:n,name:number>1?`${number} × ${row.name}`:row.name,of:row.name,facts:aY.filter(Boolean),from:Math.max(0,from-m.from),to:Math.min(m.to,Q)-m.from}}
function merged(ac,aw){const aL=[];
const am=new Map();
for(const a of ac){const d=am.get(a.track);
const aU=d?.of===a.of&&d.state===a.state&&a.to-a.from<aw&&d.narrow&&a.from-d.to<aw;
const au=d&&a.track===MOST_TRACKS-1&&a.from<d.to-1e-6;
if(aU||au){d.number+=a.number;
d.to=Math.max(d.to,a.to);
d.name=au?`${d.number} runs side by side`:`${d.number} × ${a.of}`;
d.facts=[au?`the first of ${d.of}`:`${d.number} runs ${a.state}`];
continue}
am.set(a.track,Object.assign(a,{narrow:a.to-a.from<aw}));
aL.push(a)}
return aL}
function ticksOf(g,j,b){const y=[0.1,0.2,0.5,1,2,5,10,15,30,60,120,300,600,1800,3600,7200,21600,86400];
const p=y.find((I)=>(j-g)/I<=6)??86400;
const $=[];
for(let S=Math.ceil((b-j)/p-1e-6)*p;S<=b-g+1e-6;S+=p){const i=S<p/2?"now":`−${p<1?duration(S):age(S+1e-6).replace(/ 00 (s|min)$/,"")}`;
$.push({at:b-S-g,label:i})}
return $}
function traceOf(c,b){return(c.tasks??[]).flatMap((row)=>eventsOf(row,b))}
function eventsOf(row,b){const V=[];
const aV={task_id:row.task_id,cell:row.cell??"",state:row.state};
const aj=(a_,lane,from,F)=>({cat:row.kind??"task",name:plain(row.name),ph:"X",pid:a_,tid:lane,ts:from*1e6,dur:Math.max(0,F-from)*1e6,args:aV});
if(row.submitted_at!=null&&row.finished_at==null&&row.started_at==null){V.push(aj("waiting","waiting",row.submitted_at,b))}else if(row.submitted_at!=null&&row.started_at!=null){V.push(aj("waiting","waiting",row.submitted_at,row.started_at))}
if(row.started_at==null)return V;
const j=row.finished_at??b;
if(row.pid)V.push(aj("workers",`worker ${row.pid}`,row.started_at,j));
for(const[_,av]of Object.entries(row.device_ids??{})){for(const X of av)V.push(aj("devices",`${_} ${X}`,row.started_at,j))}
return V}
const viewOfPast={accountsView,drawAccounts,drawTimeline,timelineOf,traceOf,told:{accounting:withAccounts,runs:withRuns}};
return viewOfPast}
