// A part of nbaccel's cockpit, joined from nbaccel/notebook/past/ by tools/join_cockpit.py. Change it there.
export default function(bi){const{LAST_MINUTE,WHOLE_RUN,age,button,cell,cellWords,clock,colourOf,count,deviceLabels,duration,empty,h,hostWords,laneName,nameOf,plain,stateWord,subjectOf,table}=bi;
const ABOUT=20,MOST_ACCOUNTS=50;
function withAccounts(e,f){const A=f.time,aA=(bf,d,a8)=>new Map([...(bf??[]),...d.map(row=>([a8(row),{...row,at:A}]))]);
return{since:f.seq,functions:aA(e?.functions,f.functions,row=>row.name),cells:aA(e?.cells,f.cells,row=>`${row.job} ${row.name}`),devices:aA(e?.devices,f.devices,row=>row.device),known:f.known_seconds,held:f.held_seconds,at:A,leftOut:e?e.leftOut:f.left_out,hues:{...e?.hues,...f.hues}}}function accountsView(p,c,b){if(!p)return null;
const used=row=>row.device_seconds+row.devices*Math.max(0,b-row.at),d=bc=>[...bc].sort(([,u],[,v])=>used(v)-used(u)||v.seconds-u.seconds),[P,J]=[d(p.functions),d(p.cells).filter(([,row])=>row.name)],I=P.reduce((ag,[,row])=>ag+used(row),0),aa=([L,row],aM)=>({key:L,name:aM?cellWords(c,{job:row.job,cell:row.name}):plain(row.name),runs:String(row.runs),failed:row.failed?String(row.failed):"",took:duration(row.seconds+row.running*Math.max(0,b-row.at)),used:seconds(used(row)),share:I>0?used(row)/I:0,colour:aM?-1:colourOf({...c,hues:p.hues},row.name)}),a5=[...p.devices.values()].reduce((ag,row)=>ag+row.devices,0),aQ=Math.max(0,b-p.at),F=p.known+aQ*p.devices.size,a6=F>0?`, devices idle ${percent(1-(p.held+aQ*a5)/F)} of the time`:"";
return{total:`${seconds(I)} device-seconds in all${a6}`,functions:P.slice(0,MOST_ACCOUNTS).map(row=>aa(row,false)),cells:J.slice(0,MOST_ACCOUNTS).map(row=>aa(row,true)),devices:heldViews(p,c,b),more:p.leftOut+Math.max(0,P.length-MOST_ACCOUNTS)+Math.max(0,J.length-MOST_ACCOUNTS)}}function heldViews(p,c,b){const Z=new Map([...deviceLabels(c.devices??[])].map(([row,g])=>[laneName(row),g])),aq=(c.nodes??[]).length>1,bo=[...p.devices.values()].map(row=>{const aK=row.held_seconds+row.devices*Math.max(0,b-row.at),[D,$,...Y]=row.device.split("/"),g=Z.get(aq?row.device:`/${$}/${Y.join("/")}`)??plain(`${$} ${Y.join("/")}`),m=(c.nodes??[]).find(K=>aq&&K.node_id.startsWith(D))?.name,share=b>row.since?Math.min(1,aK/(b-row.since)):0;
return{key:row.device,label:[hostWords(plain(m)),g].filter(Boolean).join(" "),held:duration(aK),share,idle:b>row.since?percent(1-share):"unknown"}}),aP=new Map([...Z.keys()].map((L,A)=>[L,A])),aR=aa=>aP.get(aa.key)??aP.get(aa.key.slice(aa.key.indexOf("/")))??0;
return bo.sort((u,v)=>Math.round(ABOUT*u.share)-Math.round(ABOUT*v.share)||aR(u)-aR(v))}function percent(share){return`${Math.round(100*Math.max(0,share))} %`}function seconds(ah){return ah<100?String(Math.round(ah*10)/10):String(Math.round(ah))}function drawAccounts({accounts:p}){if(!p)return null;
const{functions:P,cells:J,devices:ae,more:aO}=p;
const be=!P.length&&empty("Who used the devices is told here: device-seconds by function and by cell, and the idle share of each device. A call is counted here:","f.remote()");
return[be||h("p",{key:"total"},h("strong",{},p.total)),P.length>0&&used("By function","Function",P),J.length>0&&used("By cell","Cell",J),ae.length>0&&onGrid("By device",["Device","Held","Held share"],ae.map(heldRow)),aO>0&&h("p",{class:"quiet more",key:"more"},`and ${aO} more rows`)]}function used(aB,bp,d){const aI=d.some(row=>row.failed);
return onGrid(aB,[bp,"Runs",...(aI?["Failed"]:[]),"Took in all","Device-seconds","Share"],d.map(row=>h("tr",{key:row.key},h("th",{scope:"row"},row.colour<0?null:h("span",{class:`swatch c${row.colour}`,"aria-hidden":"true"}),nameOf(row.name)),number("runs",row.runs),aI&&number("failed",row.failed),number("took",row.took),number("device-s",row.used),cell(share(row.share,row.colour),"share"))))}function onGrid(aB,aZ,d){const E=table(aB,aZ,d);
return{...E,props:{...E.props,class:"scroll accounts"}}}function heldRow(row){return h("tr",{key:row.key},h("th",{scope:"row"},h("span",{class:"label"},row.label)),number("held",row.held),cell([share(row.share,-1),h("span",{class:"small"},` idle ${row.idle}`)],"share"))}function number(a3,aD){return h("td",{class:"number","data-head":a3},aD)}function share(bh,O){return h("span",{class:O<0?"bar plain":"bar","aria-hidden":"true"},h("span",{class:O<0?"part":`part c${O}`,style:`width:${Math.round(1000*bh)/10}%`}))}
const TRACK=20,GAP=8,DEPTH=28,BAND=15,AXIS=18,MOST_NAMES=8,NARROW=640;
function drawTimeline({timeline:t,ended:a_},o){if(!t)return[];
const aG=(ab,g)=>button(g,{"data-act":"window","data-window":ab,"aria-pressed":String(!o.range&&o.window===ab)}),aV=(bm,ad,g)=>button(bm,{"data-act":"zoom","data-by":ad,"aria-label":g,title:g}),bn=h("div",{class:"filters",key:"tools",role:"group","aria-label":"Timeline"},aG(LAST_MINUTE,"Last minute"),aG(WHOLE_RUN,"Whole run"),aV("+",0.5,"Zoom in"),aV("−",2,"Zoom out"),o.range&&button("Follow",{"data-act":"follow",title:"Show what happens now"}),button("Save as Chrome trace",{"data-act":"trace"})),az=t.lanes.some(lane=>lane.bars.length)||t.depth.most>0;
if(!az&&!o.range&&(a_||o.window===WHOLE_RUN))return[empty("No task has run yet. A lane for each device is drawn here, with a bar for each run of a task:","f.remote()")];
const a4=h("p",{class:"quiet small",key:"hint"},"Drag to look closer, Ctrl and the wheel or + and − to zoom, arrow keys to move, 0 for all."),bj=!az&&h("p",{class:"quiet",key:"quiet"},"Nothing ran in this time. A call makes a bar here: ",h("code",{},"f.remote()"));
return[bn,bj,...(az||o.range?[lanes(t,o),names(t),a4,hoverCard(t,o)]:[])]}function names({lanes:I}){const ap=new Map();
for(const a of I.flatMap(lane=>lane.bars)){ap.set(a.of,{runs:(ap.get(a.of)?.runs??0)+a.number,colour:ap.get(a.of)?.colour??a.colour})}
const bd=[...ap].sort((u,v)=>v[1].runs-u[1].runs).slice(0,MOST_NAMES);
return h("p",{class:"line small",key:"names"},bd.map(([m,{runs:number,colour:O}])=>h("span",{key:m,class:"nowrap"},h("span",{class:`swatch c${O}`,"aria-hidden":"true"})," ",nameOf(m),number>1&&` × ${number}`)))}function lanes(t,o){const y=o.room,l=y<NARROW?84:116;
o.lanes={width:y,left:l,right:y-10};
const bk=(y-10-l)/t.seconds,k=seconds=>round(l+seconds*bk);
let r=4;
const V=[];
let D=("");
for(const lane of t.lanes){if(lane.node&&lane.node!==D){V.push(h("text",{key:`node ${lane.node}`,x:4,y:r+BAND/2,class:"tick-label","dominant-baseline":"central"},lane.node));
r+=BAND}
D=lane.node;
const s=r,X=lane.tracks*TRACK;
r+=X+GAP;
V.push(h("g",{key:lane.key},laneLabel(lane.label,l,s+X/2),h("line",{x1:l,x2:y-10,y1:s+X+GAP/2,y2:s+X+GAP/2,class:"rule"}),lane.bars.map(a=>barShape(a,k,s))))}
if(t.depth.most>0){V.push(strip(t,k,l,r));
r+=DEPTH+GAP}
const x=t.ticks.map(N=>h("line",{key:N.label,x1:k(N.at),x2:k(N.at),y1:0,y2:r,class:"tick"}));
return h("div",{class:"scroll",key:"lanes",tabindex:"0",role:"region","aria-label":"Timeline"},axis(t,k,l,y),h("svg",{viewBox:`0 0 ${y} ${r}`,role:"img","aria-label":t.words,class:"timeline"},x,V))}function axis({ticks:x,bands:aE},k,l,y){const aC=Math.max(0,...aE.map(w=>w.track+1)),X=AXIS+aC*BAND,Z=apartFrom(x,k).map(N=>h("text",{key:N.label,x:Math.min(k(N.at),y-10),y:12,class:"tick-label","text-anchor":N.label==="now"?"end":"middle"},N.label)),V=aE.map(w=>{const[from,s]=[k(w.from),AXIS+w.track*BAND],aU=Math.max(2,round(k(w.to)-from));
return h("g",{key:w.label},h("rect",{x:from,y:s,width:aU,height:BAND-2,rx:2,class:"band"},h("title",{},`cell ${w.label}`)),aU>7*w.label.length+4&&h("text",{x:from+4,y:s+BAND/2-1,class:"tick-label","dominant-baseline":"central"},w.label))});
return h("div",{class:"axis",key:"axis"},h("svg",{viewBox:`0 0 ${y} ${X}`,class:"timeline","aria-hidden":"true"},aC>0&&laneLabel("cells",l,AXIS+(aC*BAND)/2-1),Z,V))}function apartFrom(x,k){if(x.length<2)return x;
const af=7*Math.max(...x.map(({label:g})=>g.length))+4,a$=Math.ceil(af/Math.max(1,k(x[0].at)-k(x[1].at)));
return x.filter((bq,ax)=>ax%a$===0)}function laneLabel(g,l,s){const G=Math.floor((l-12)/6.6),aT=g.length>G?`${g.slice(0,G-1)}…`:g;
return h("text",{x:l-10,y:s,class:"lane","text-anchor":"end","dominant-baseline":"central"},aT,aT!==g&&h("title",{},g))}function strip({depth:U,seconds},k,l,r){const s=S=>round(r+DEPTH-(S/U.most)*(DEPTH-4)),z=U.steps.map(({at:A,waiting:S})=>`H${k(A)}V${s(S)}`).join("");
return h("g",{key:"depth"},laneLabel("waiting",l,r+DEPTH/2-6),h("text",{x:l-10,y:r+DEPTH/2+8,class:"tick-label","text-anchor":"end","dominant-baseline":"central"},U.words),h("path",{class:"depth",d:`M${k(0)} ${s(0)}${z}H${k(seconds)}V${s(0)}Z`},h("title",{},`${U.words} waited`)))}function barShape(a,k,s){const l=k(a.from),y=Math.max(1.5,round(k(a.to)-l)),r=s+a.track*TRACK,m=a.state==="failed"?`✕ ${a.name}`:a.name,af=Math.floor((y-10)/7),E=m.length<=af?m:af>4?`${m.slice(0,af-1)}…`:"";
return h("g",{key:a.key},h("rect",{x:l,y:r+1,width:y,height:TRACK-2,rx:2,class:`run c${a.colour} ${a.state}`,"data-bar":a.key}),E&&h("text",{x:l+6,y:r+TRACK/2,class:`bar-name c${a.colour}`,"dominant-baseline":"central"},E))}function hoverCard({lanes:I},{hover:am}){const lane=am.bar?I.find(K=>K.bars.some(a=>a.key===am.bar)):null,a=lane?.bars.find(K=>K.key===am.bar);
if(!lane||!a)return null;
return h("div",{class:"hover",key:"hover",style:am.style},h("div",{},h("span",{class:`swatch c${a.colour}`,"aria-hidden":"true"}),h("span",{class:"name"},a.name)),[[lane.node,lane.label].filter(Boolean).join(" · "),...a.facts].map(aH=>h("div",{key:aH,class:"quiet small"},aH)))}function round(ah){return Math.round(ah*10)/10}
const COARSE=8;
function withRuns(e,f){const aL={...e?.hues,...f.hues};
if(f.whole||!e)return{since:f.seq,whole:f,later:null,hues:aL};
const a7=f.grain_s>COARSE*e.whole.grain_s;
return{...e,since:a7?0:e.whole.seq,later:f,hues:aL}}function pastRows(Q,c,b){const{whole:ai,later:_}=Q;
const ba=_??ai,aY={...c,hues:{...Q.hues,...c.hues}};
const d=(f,aJ)=>{const a9=new Map(f.kinds.map(C=>[C.index,C]));
return(aJ?f.running:f.ended).flatMap(({lane,bars:ac})=>ac.map(a=>row(f,laneIn(f.lanes[lane],c),a,(a9.get(a[0])),aY,aJ,b)))};
return[...d(ai,false),...(_?d(_,false):[]),...d(ba,true)]}function row(f,lane,[,from,ar,number=1,aS=0,at=0],C,c,al,b){const i=f.origin+from/1000,B=al?(c.ended?b:null):i+ar/1000,o=al&&c.ended?"ENDED_WITH_IT":C.state==="DEAD"?"ENDED":C.state;
return{task_id:`${lane} ${C.index} ${from} ${number} ${aS}`,lane,name:plain(C.function)+(number<0?" and others":""),state:number<0?"":o,number:Math.abs(number),submitted_at:i-at/1000,started_at:i,finished_at:B,cell:cellWords(c,C),band:C.job?"":plain(C.cell).split(" ",1)[0],colour:colourOf(c,C.function)+aS}}function laneIn(lane,c){return(c.nodes??[]).length>1||!lane.includes("/")?lane:lane.slice(lane.indexOf("/"))}function depthOf(d,i,j,b){const au=new Map(),aF=(A,ad)=>au.set(A,(au.get(A)??0)+ad);
for(const row of d){const from=row.submitted_at,R=row.started_at??row.finished_at??b;
if(from==null||R<i||from>j||R-from<0.01)continue;
aF(Math.max(0,from-i),1);
aF(Math.min(j,R)-i,-1)}
let S=0;
const z=[...au].sort((u,v)=>u[0]-v[0]).map(([A,ad])=>({at:A,waiting:(S+=ad)})),G=Math.max(0,...z.map(q=>q.waiting));
return{steps:z,most:G,words:`most ${G}`}}function depthOfMeans({whole:ai,later:_},i,j){let z=[];
for(const f of _?[ai,_]:[ai]){z=z.filter(q=>q.at<f.waiting_from-i);
f.waiting.forEach((S,ax)=>z.push({at:f.waiting_from+ax*f.waiting_step_s-i,waiting:S}))}
const e=z.filter(q=>q.at<=0).pop(),E=z.filter(q=>q.at>0&&q.at<j-i);
if(e)E.unshift({at:0,waiting:e.waiting});
const G=Math.max(0,...E.map(q=>q.waiting));
return{steps:E,most:G,words:`about ${Math.max(1,Math.round(G))}`}}
const PIXELS=900,MOST_TRACKS=6,MOST_BANDS=3;
function timelineOf(c,ab,b,n=null,Q=null){const d=Q?pastRows(Q,c,b):[...(c.tasks??[]),...holdingActors(c)].map(row=>rowOf(row,c)),a1=d.reduce((bb,row)=>Math.min(bb,row.submitted_at??row.started_at??b),b-1),i=n?.from??(ab===WHOLE_RUN?a1:b-ab),j=n?.to??(ab===WHOLE_RUN?endOf(d,b):b),lanes=lanesOf(c,d).map(({key:L,label:g,node:D,rows:d})=>({...lane(L,g,d,{from:i,to:j},b),node:D})),E=lanes.reduce((ag,K)=>ag+K.bars.reduce((I,a)=>I+a.number,0),0),aD=`${count(E,"task run")} on ${count(lanes.length,"lane")} in ${age(j-i)}`,U=Q?depthOfMeans(Q,i,j):depthOf(d,i,j,b);
return{start:i,seconds:j-i,lanes,ticks:ticksOf(i,j,b),bands:bandsOf(d,{from:i,to:j},b),depth:U,words:aD}}function endOf(d,b){const al=!d.length||d.some(row=>row.finished_at==null);
return al?b:Math.min(b,1+d.reduce((an,row)=>Math.max(an,row.finished_at??0),0))}function rowOf(row,c){const O=colourOf(c,subjectOf(row),row.actor_id||row.task_id);
return{...row,name:plain(row.name),cell:cellWords(c,row),colour:O,band:row.job?"":plain(row.cell).split(" ",1)[0]}}function holdingActors(c){return(c.actors??[]).filter(row=>row.state==="ALIVE"&&row.since!=null&&Object.keys(row.device_ids??{}).length).map(row=>({task_id:row.actor_id,actor_id:row.actor_id,name:row.class_name,state:"ALIVE",started_at:row.since,device_ids:row.device_ids,cell:row.cell,job:row.job}))}function lanesOf(c,d){const ae=(c.devices??[]).filter(row=>row.offered!==false),Z=deviceLabels(c.devices??[]),aq=new Set(ae.map(row=>row.node_id)).size>1,names=new Map((c.nodes??[]).map(D=>[D.node_id,plain(D.name)])),lanes=new Map(ae.map(aj=>{const D=aq?hostWords(names.get(aj.node_id??"")??""):"";
return[laneName(aj),{key:laneName(aj),label:Z.get(aj)??"",node:D,rows:[]}]})),ao={key:"cpu",label:"CPU",node:"",rows:([])};
for(const row of d){if(row.started_at==null||row.kind==="actor creation")continue;
for(const m of lanesFor(row,lanes)){const F=lanes.get(m);
if(m===ao.key)ao.rows.push(row);
else if(F)F.rows.push(row);
else lanes.set(m,{key:m,label:plain(m.split("/").slice(1).join(" ")),node:"",rows:[row]})}}
return[...lanes.values(),...(ao.rows.length?[ao]:[])]}function lanesFor(row,lanes){if(row.lane)return[row.lane];
const names=Object.entries(row.device_ids??{}).flatMap(([$,aw])=>aw.map(Y=>laneName({node_id:row.node_id,resource:$,id:Y}))),F=m=>(row.node_id||lanes.has(m)?m:([...lanes.keys()].find(L=>L.endsWith(m))??m));
return names.length?names.map(F):["cpu"]}function bandsOf(d,n,b){const J=new Map();
for(const{band:w,started_at:from,finished_at:H}of d){if(!w||from==null)continue;
const F=J.get(w)??{from,to:from};
J.set(w,{from:Math.min(F.from,from),to:Math.max(F.to,H??b)})}
const B=[],bl=[...J].filter(([,{from,to:H}])=>from<n.to&&H>=n.from).sort((u,v)=>u[1].from-v[1].from);
return bl.map(([g,{from,to:H}])=>{const M=freeTrack(B,from,H,MOST_BANDS);
return{label:g,track:M,from:Math.max(from,n.from)-n.from,to:Math.min(H,n.to)-n.from}})}function freeTrack(B,from,H,G){let M=B.findIndex(j=>j<=from+1e-6);
if(M<0)M=Math.min(B.length,G-1);
B[M]=Math.max(B[M]??0,H);
return M}function lane(L,g,d,n,b){const bg=d.filter(row=>row.started_at!=null&&row.started_at<n.to&&(row.finished_at??b)>=n.from).sort((u,v)=>(u.started_at??0)-(v.started_at??0)),B=[],ac=merged(bg.map(row=>barOf(row,freeTrack(B,row.started_at??b,row.finished_at??b,MOST_TRACKS),n,b)),(n.to-n.from)/PIXELS);
return{key:L,label:g,tracks:Math.max(1,Math.min(B.length,MOST_TRACKS)),bars:ac}}function barOf(row,M,n,b){const o=stateWord(row.state),[from,R,number]=[row.started_at??b,row.finished_at??b,row.number??1],at=from-(row.submitted_at??from),ar=row.finished_at==null?age(R-from):duration(R-from),a0=[number>1?`${number} runs ${o&&`${o} `}within ${ar}`:`${o} ${ar}`.trim(),row.cell?`cell ${row.cell}`:"",at>=1?`waited ${age(at)} before`:"",`started ${clock(from,b)}`];
return{key:row.task_id,track:M,number,colour:row.colour,state:o,name:number>1?`${number} × ${row.name}`:row.name,of:row.name,facts:a0.filter(Boolean),from:Math.max(0,from-n.from),to:Math.min(n.to,R)-n.from}}function merged(ac,ay){const aN=[],an=new Map();
for(const a of ac){const e=an.get(a.track),aW=e?.of===a.of&&e.state===a.state&&a.to-a.from<ay&&e.narrow&&a.from-e.to<ay,av=e&&a.track===MOST_TRACKS-1&&a.from<e.to-1e-6;
if(aW||av){e.number+=a.number;
e.to=Math.max(e.to,a.to);
e.name=av?`${e.number} runs side by side`:`${e.number} × ${a.of}`;
e.facts=[av?`the first of ${e.of}`:`${e.number} runs ${a.state}`];
continue}
an.set(a.track,Object.assign(a,{narrow:a.to-a.from<ay}));
aN.push(a)}
return aN}function ticksOf(i,j,b){const z=[0.1,0.2,0.5,1,2,5,10,15,30,60,120,300,600,1800,3600,7200,21600,86400],q=z.find(K=>(j-i)/K<=6)??86400,x=[];
for(let T=Math.ceil((b-j)/q-1e-6)*q;T<=b-i+1e-6;T+=q){const g=T<q/2?"now":`−${q<1?duration(T):age(T+1e-6).replace(/ 00 (s|min)$/,"")}`;
x.push({at:b-T-i,label:g})}
return x}function traceOf(c,b){return(c.tasks??[]).flatMap(row=>eventsOf(row,b))}function eventsOf(row,b){const W=[],aX={task_id:row.task_id,cell:row.cell??"",state:row.state};
const ak=(a2,lane,from,H)=>({cat:row.kind??"task",name:plain(row.name),ph:"X",pid:a2,tid:lane,ts:from*1e6,dur:Math.max(0,H-from)*1e6,args:aX});
if(row.submitted_at!=null&&row.finished_at==null&&row.started_at==null){W.push(ak("waiting","waiting",row.submitted_at,b))}else if(row.submitted_at!=null&&row.started_at!=null){W.push(ak("waiting","waiting",row.submitted_at,row.started_at))}
if(row.started_at==null)return W;
const j=row.finished_at??b;
if(row.pid)W.push(ak("workers",`worker ${row.pid}`,row.started_at,j));
for(const[$,aw]of Object.entries(row.device_ids??{})){for(const Y of aw)W.push(ak("devices",`${$} ${Y}`,row.started_at,j))}
return W}
const viewOfPast={accountsView,drawAccounts,drawTimeline,timelineOf,traceOf,told:{accounting:withAccounts,runs:withRuns}};
return viewOfPast}
