// A part of nbaccel's cockpit, joined from nbaccel/notebook/past/ by tools/join_cockpit.py. Change it there.
export default function(am){const{LAST_MINUTE,WHOLE_RUN,age,button,cell,cellWords,clock,colourOf,count,deviceLabels,duration,empty,h,hostWords,laneName,nameOf,plain,stateWord,subjectOf,table}=am;
const ABOUT=20,MOST_ACCOUNTS=50;
function withAccounts(d,c){const C=c.time,aN=(bu,f,bo)=>new Map([...(bu??[]),...f.map(row=>([bo(row),{...row,at:C}]))]);
return{since:c.seq,functions:aN(d?.functions,c.functions,row=>row.name),cells:aN(d?.cells,c.cells,row=>`${row.job} ${row.name}`),devices:aN(d?.devices,c.devices,row=>row.device),known:c.known_seconds,held:c.held_seconds,at:C,leftOut:d?d.leftOut:c.left_out,hues:{...d?.hues,...c.hues}}}function accountsView(q,e,b){if(!q)return null;
const used=row=>row.device_seconds+row.devices*Math.max(0,b-row.at),f=bs=>[...bs].sort(([,w],[,x])=>used(x)-used(w)||x.seconds-w.seconds),[V,K]=[f(q.functions),f(q.cells).filter(([,row])=>row.name)],s=V.reduce((X,[,row])=>X+used(row),0),ah=([M,row],aY)=>({key:M,name:aY?cellWords(e,{job:row.job,cell:row.name}):plain(row.name),runs:String(row.runs),failed:row.failed?String(row.failed):"",took:duration(row.seconds+row.running*Math.max(0,b-row.at)),used:seconds(used(row)),share:s>0?used(row)/s:0,colour:aY?-1:colourOf({...e,hues:q.hues},row.name)}),bl=[...q.devices.values()].reduce((X,row)=>X+row.devices,0),a1=Math.max(0,b-q.at),g=q.known+a1*q.devices.size,bm=g>0?`, devices idle ${percent(1-(q.held+a1*bl)/g)} of the time`:"";
return{total:`${seconds(s)} device-seconds in all${bm}`,functions:V.slice(0,MOST_ACCOUNTS).map(row=>ah(row,false)),cells:K.slice(0,MOST_ACCOUNTS).map(row=>ah(row,true)),devices:heldViews(q,e,b),more:q.leftOut+Math.max(0,V.length-MOST_ACCOUNTS)+Math.max(0,K.length-MOST_ACCOUNTS)}}function heldViews(q,e,b){const ae=new Map([...deviceLabels(e.devices??[])].map(([row,i])=>[laneName(row),i])),aB=(e.nodes??[]).length>1,bC=[...q.devices.values()].map(row=>{const aG=row.held_seconds+row.devices*Math.max(0,b-row.at),[F,ag,...ad]=row.device.split("/"),i=ae.get(aB?row.device:`/${ag}/${ad.join("/")}`)??plain(`${ag} ${ad.join("/")}`),o=(e.nodes??[]).find(L=>aB&&L.node_id.startsWith(F))?.name,share=b>row.since?Math.min(1,aG/(b-row.since)):0;
return{key:row.device,label:[hostWords(plain(o)),i].filter(Boolean).join(" "),held:aG?duration(aG):"never",share,idle:b>row.since?percent(1-share):"unknown"}}),a0=new Map([...ae.keys()].map((M,C)=>[M,C])),a2=ah=>a0.get(ah.key)??a0.get(ah.key.slice(ah.key.indexOf("/")))??0;
return bC.sort((w,x)=>Math.round(ABOUT*w.share)-Math.round(ABOUT*x.share)||a2(w)-a2(x))}function percent(share){return`${Math.round(100*Math.max(0,share))} %`}function seconds(ao){return ao<100?String(Math.round(ao*10)/10):String(Math.round(ao))}function drawAccounts({accounts:q}){if(!q)return null;
const{functions:V,cells:K,devices:al,more:a_}=q;
const aJ=!V.length&&empty("Who used the devices is told here: device-seconds by function and by cell, and the idle share of each device. A call is counted here:","f.remote()");
return[aJ||h("p",{key:"total"},h("strong",{},q.total)),V.length>0&&used("By function","Function",V),K.length>0&&used("By cell","Cell",K),al.length>0&&onGrid("By device",["Device","Held","Held share"],al.map(heldRow)),a_>0&&h("p",{class:"quiet more",key:"more"},`and ${a_} more rows`)]}function used(aO,bD,f){const aV=f.some(row=>row.failed);
return onGrid(aO,[bD,"Runs",...(aV?["Failed"]:[]),"Took in all","Device-seconds","Share"],f.map(row=>h("tr",{key:row.key},h("th",{scope:"row"},row.colour<0?null:h("span",{class:`swatch c${row.colour}`,"aria-hidden":"true"}),nameOf(row.name)),number("runs",row.runs),aV&&number("failed",row.failed),number("took",row.took),number("device-s",row.used),cell(share(row.share,row.colour),"share"))))}function onGrid(aO,bc,f){const G=table(aO,bc,f);
return{...G,props:{...G.props,class:"scroll accounts"}}}function heldRow(row){return h("tr",{key:row.key},h("th",{scope:"row"},h("span",{class:"label"},row.label)),number("held",row.held),cell([share(row.share,-1),h("span",{class:"small"},` idle ${row.idle}`)],"share"))}function number(bj,aQ){return h("td",{class:"number","data-head":bj},aQ)}function share(ax,U){return h("span",{class:U<0?"bar plain":"bar","aria-hidden":"true"},h("span",{class:U<0?"part":`part c${U}`,style:`width:${Math.round(1000*ax)/10}%`}))}
const TRACK=20,GAP=8,DEPTH=28,BAND=15,AXIS=18,MOST_NAMES=8,NARROW=640;
function drawTimeline({timeline:v,ended:bd},k){if(!v)return[];
const aT=(ai,i)=>button(i,{"data-act":"window","data-window":ai,"aria-pressed":String(!k.range&&k.window===ai)}),a8=(bA,ak,i)=>button(bA,{"data-act":"zoom","data-by":ak,"aria-label":i,title:i}),bB=h("div",{class:"filters",key:"tools",role:"group","aria-label":"Timeline"},aT(LAST_MINUTE,"Last minute"),aT(WHOLE_RUN,"Whole run"),a8("+",0.5,"Zoom in"),a8("−",2,"Zoom out"),k.range&&button("Follow",{key:"follow","data-act":"follow",title:"Show what happens now"}),button("Save as Chrome trace",{key:"trace","data-act":"trace"})),aM=v.lanes.some(lane=>lane.bars.length)||v.depth.most>0;
if(!aM&&!k.range&&(bd||k.window===WHOLE_RUN))return[empty("No task has run yet. A lane for each device is drawn here, with a bar for each run of a task:","f.remote()")];
const bk=h("p",{class:"quiet small",key:"hint"},"Drag to look closer, Ctrl and the wheel or + and − to zoom, arrow keys to move, 0 for all."),bx=!aM&&h("p",{class:"quiet",key:"quiet"},"Nothing ran in this time. A call makes a bar here: ",h("code",{},"f.remote()"));
return[bB,bx,...(aM||k.range?[lanes(v,k),names(v),bk,hoverCard(v,k)]:[])]}function names({lanes:s}){const az=new Map();
for(const a of s.flatMap(lane=>lane.bars)){az.set(a.of,{runs:(az.get(a.of)?.runs??0)+a.number,colour:az.get(a.of)?.colour??a.colour})}
const bt=[...az].sort((w,x)=>x[1].runs-w[1].runs).slice(0,MOST_NAMES);
return h("p",{class:"line small",key:"names"},bt.map(([o,{runs:number,colour:U}])=>h("span",{key:o,class:"nowrap"},h("span",{class:`swatch c${U}`,"aria-hidden":"true"})," ",nameOf(o),number>1&&` × ${number}`)))}function lanes(v,k){const A=k.room,n=A<NARROW?84:116;
k.lanes={width:A,left:n,right:A-10};
const by=(A-10-n)/v.seconds,m=seconds=>round(n+seconds*by);
let t=4;
const aa=[];
let F=("");
for(const lane of v.lanes){if(lane.node&&lane.node!==F){aa.push(h("text",{key:`node ${lane.node}`,x:4,y:t+BAND/2,class:"tick-label","dominant-baseline":"central"},lane.node));
t+=BAND}
F=lane.node;
const u=t,ac=lane.tracks*TRACK;
t+=ac+GAP;
aa.push(h("g",{key:lane.key},laneLabel(lane.label,n,u+ac/2),h("line",{x1:n,x2:A-10,y1:u+ac+GAP/2,y2:u+ac+GAP/2,class:"rule"}),lane.bars.map(a=>barShape(a,m,u))))}
if(v.depth.most>0){aa.push(strip(v,m,n,t));
t+=DEPTH+GAP}
const z=v.ticks.map(S=>h("line",{key:S.label,x1:m(S.at),x2:m(S.at),y1:0,y2:t,class:"tick"}));
return h("div",{class:"scroll",key:"lanes",tabindex:"0",role:"region","aria-label":"Timeline"},axis(v,m,n,A),h("svg",{viewBox:`0 0 ${A} ${t}`,role:"img","aria-label":v.words,class:"timeline"},z,aa))}function axis({ticks:z,bands:aR},m,n,A){const aP=Math.max(0,...aR.map(y=>y.track+1)),ac=AXIS+aP*BAND,ae=apartFrom(z,m).map(S=>h("text",{key:S.label,x:Math.min(m(S.at),A-10),y:12,class:"tick-label","text-anchor":S.label==="now"?"end":"middle"},S.label)),aa=aR.map(y=>{const[from,u]=[m(y.from),AXIS+y.track*BAND],a7=Math.max(2,round(m(y.to)-from));
return h("g",{key:y.label},h("rect",{x:from,y:u,width:a7,height:BAND-2,rx:2,class:"band"},h("title",{},`cell ${y.label}`)),a7>7*y.label.length+4&&h("text",{x:from+4,y:u+BAND/2-1,class:"tick-label","dominant-baseline":"central"},y.label))});
return h("div",{class:"axis",key:"axis"},h("svg",{viewBox:`0 0 ${A} ${ac}`,class:"timeline","aria-hidden":"true"},aP>0&&laneLabel("cells",n,AXIS+(aP*BAND)/2-1),ae,aa))}function apartFrom(z,m){if(z.length<2)return z;
const an=7*Math.max(...z.map(({label:i})=>i.length))+4,be=Math.ceil(an/Math.max(1,m(z[0].at)-m(z[1].at)));
return z.filter((bE,Q)=>Q%be===0)}function laneLabel(i,n,u){const I=Math.floor((n-12)/6.6),a5=i.length>I?`${i.slice(0,I-1)}…`:i;
return h("text",{x:n-10,y:u,class:"lane","text-anchor":"end","dominant-baseline":"central"},a5,a5!==i&&h("title",{},i))}function strip({depth:$,seconds},m,n,t){const u=Z=>round(t+DEPTH-(Z/$.most)*(DEPTH-4)),B=$.steps.map(({at:C,waiting:Z})=>`H${m(C)}V${u(Z)}`).join("");
return h("g",{key:"depth"},laneLabel("waiting",n,t+DEPTH/2-6),h("text",{x:n-10,y:t+DEPTH/2+8,class:"tick-label","text-anchor":"end","dominant-baseline":"central"},$.words),h("path",{class:"depth",d:`M${m(0)} ${u(0)}${B}H${m(seconds)}V${u(0)}Z`},h("title",{},`${$.words} waited`)))}function barShape(a,m,u){const n=m(a.from),A=Math.max(1.5,round(m(a.to)-n)),t=u+a.track*TRACK,o=a.state==="failed"?`✕ ${a.name}`:a.name,an=Math.floor((A-10)/7),G=o.length<=an?o:an>4?`${o.slice(0,an-1)}…`:"";
return h("g",{key:a.key},h("rect",{x:n,y:t+1,width:A,height:TRACK-2,rx:2,class:`run c${a.colour} ${a.state}`,"data-bar":a.key}),G&&h("text",{x:n+6,y:t+TRACK/2,class:`bar-name c${a.colour}`,"dominant-baseline":"central"},G))}function hoverCard({lanes:s},{hover:au}){const lane=au.bar?s.find(L=>L.bars.some(a=>a.key===au.bar)):null,a=lane?.bars.find(L=>L.key===au.bar);
if(!lane||!a)return null;
return h("div",{class:"hover",key:"hover",style:au.style},h("div",{},h("span",{class:`swatch c${a.colour}`,"aria-hidden":"true"}),h("span",{class:"name"},a.name)),[[lane.node,lane.label].filter(Boolean).join(" · "),...a.facts].map(aU=>h("div",{key:aU,class:"quiet small"},aU)))}function round(ao){return Math.round(ao*10)/10}
const MOST_CHARACTERS=200_000,MOST_LINES=2_000;
function withLog(d,c){const a3=[{text:c.out.text,err:false},{text:c.err.text,err:true}].filter(bw=>bw.text),bh=d&&(c.out.left_out||c.err.left_out)?[{text:"… too much was printed to show all of it …\n",err:true}]:[];
let R=[...(d?.pieces??[]),...bh,...a3],a6=R.reduce((X,{text:N})=>X+N.length,0);
while(a6>MOST_CHARACTERS&&R.length>1){a6-=R[0].text.length;
R=R.slice(1)}
return{pieces:R,out:c.out.to,err:c.err.to,over:c.over,pid:c.pid?String(c.pid):"",done:c.over&&Boolean(d?.over)&&!a3.length,failure:c.failure,yours:c.yours??"",note:c.note,left:d?.left||Boolean(c.out.left_out||c.err.left_out)}}function logLines(R){const aI=[],aK={false:null,true:null};
for(const{text:N,err:P}of R){const am=N.split("\n");
am.forEach((ax,Q)=>{const aw=aK[String(P)]??{text:"",err:P};
if(aK[String(P)]===null&&(ax||Q<am.length-1))aI.push(aw);
aw.text+=ax;
aK[String(P)]=Q<am.length-1?null:aI.includes(aw)?aw:null})}
return aI.map(({text:N,err:P})=>({text:plain(N.replace(/\r+$/,"").split("\r").at(-1)?.replaceAll("\t","    ")),err:P}))}function drawLog(k){const H=k.log;
if(!H)return null;
const g=(k.past.task_log?.data??null);
return h("section",{class:"log","aria-label":`Log of ${H.name}`},logHead(H,g),...failureOf(g),printed(H,g))}function logHead(H,g){return h("div",{class:"line",key:"head"},h("strong",{},`Log of ${H.name}`),g?.pid&&h("span",{class:"quiet"},`all that its process has printed, pid ${g.pid}`),g&&!g.over&&h("span",{class:"chip"},"live"),h("label",{class:"aside quiet"},"Search ",h("input",{type:"search","data-search":"log",value:H.search,"aria-label":`Search the log of ${H.name}`})),button("Close",{"data-act":"close-log","aria-label":"Close the log"}))}function failureOf(g){if(!g?.failure)return[];
const T=h("pre",{tabindex:"0","aria-label":"The whole traceback"},g.failure);
if(!g.yours||g.yours===g.failure)return[h("div",{key:"failure",class:"failure"},T)];
return[h("div",{key:"failure",class:"failure"},h("pre",{tabindex:"0","aria-label":"Your code in the traceback"},g.yours),h("details",{open:true},h("summary",{},"The whole traceback"),T))]}function printed(H,g){if(!g)return h("p",{class:"quiet",key:"none"},"Asking the kernel …");
const s=logLines(g.pieces),aA=H.search.trim().toLowerCase(),ar=aA?s.filter(({text:N})=>N.toLowerCase().includes(aA)):s,aJ=g.note||(aA&&s.length?"No line has this text.":g.over?"It has printed nothing.":"It has printed nothing yet."),a$=[aA&&s.length&&`${ar.length} of ${count(s.length,"line")}`,g.left&&"the beginning is only in %accel_logs",ar.length>MOST_LINES&&`the last ${MOST_LINES} lines`].filter(Boolean);
return h("div",{key:"printed"},a$.length>0&&h("p",{class:"quiet",role:"status"},a$.join(" · ")),ar.length?h("pre",{class:"printed",tabindex:"0","aria-label":"What it has printed"},ar.slice(-MOST_LINES).map(({text:N,err:P},Q)=>h("span",{key:`l${Q}`,class:P?"err":null},`${N}\n`))):h("p",{class:"quiet"},aJ))}
const COARSE=8;
function withRuns(d,c){const aX={...d?.hues,...c.hues};
if(c.whole||!d)return{since:c.seq,whole:c,later:null,hues:aX};
const bn=c.grain_s>COARSE*d.whole.grain_s;
return{...d,since:bn?0:d.whole.seq,later:c,hues:aX}}function pastRows(W,e,b){const{whole:T,later:af}=W;
const bq=af??T,bb={...e,hues:{...W.hues,...e.hues}};
const f=(c,aW)=>{const bp=new Map(c.kinds.map(E=>[E.index,E]));
return(aW?c.running:c.ended).flatMap(({lane,bars:aj})=>aj.map(a=>row(c,laneIn(c.lanes[lane],e),a,(bp.get(a[0])),bb,aW,b)))};
return[...f(T,false),...(af?f(af,false):[]),...f(bq,true)]}function row(c,lane,[,from,aC,number=1,a4=0,aD=0],E,e,at,b){const j=c.origin+from/1000,D=at?(e.ended?b:null):j+aC/1000,k=at&&e.ended?"ENDED_WITH_IT":E.state==="DEAD"?"ENDED":E.state;
return{task_id:`${lane} ${E.index} ${from} ${number} ${a4}`,lane,name:plain(E.function)+(number<0?" and others":""),state:number<0?"":k,number:Math.abs(number),submitted_at:j-aD/1000,started_at:j,finished_at:D,cell:cellWords(e,E),band:E.job?"":plain(E.cell).split(" ",1)[0],colour:colourOf(e,E.function)+a4}}function laneIn(lane,e){return(e.nodes??[]).length>1||!lane.includes("/")?lane:lane.slice(lane.indexOf("/"))}function depthOf(f,j,l,b){const aE=new Map(),aS=(C,ak)=>aE.set(C,(aE.get(C)??0)+ak);
for(const row of f){const from=row.submitted_at,Y=row.started_at??row.finished_at??b;
if(from==null||Y<j||from>l||Y-from<0.01)continue;
aS(Math.max(0,from-j),1);
aS(Math.min(l,Y)-j,-1)}
let Z=0;
const B=[...aE].sort((w,x)=>w[0]-x[0]).map(([C,ak])=>({at:C,waiting:(Z+=ak)})),I=Math.max(0,...B.map(r=>r.waiting));
return{steps:B,most:I,words:`most ${I}`}}function depthOfMeans({whole:T,later:af},j,l){let B=[];
for(const c of af?[T,af]:[T]){B=B.filter(r=>r.at<c.waiting_from-j);
c.waiting.forEach((Z,Q)=>B.push({at:c.waiting_from+Q*c.waiting_step_s-j,waiting:Z}))}
const d=B.filter(r=>r.at<=0).pop(),G=B.filter(r=>r.at>0&&r.at<l-j);
if(d)G.unshift({at:0,waiting:d.waiting});
const I=Math.max(0,...G.map(r=>r.waiting));
return{steps:G,most:I,words:`about ${Math.max(1,Math.round(I))}`}}
const PIXELS=900,MOST_TRACKS=6,MOST_BANDS=3;
function timelineOf(e,ai,b,p=null,W=null){const f=W?pastRows(W,e,b):[...(e.tasks??[]),...holdingActors(e)].map(row=>rowOf(row,e)),bg=f.reduce((br,row)=>Math.min(br,row.submitted_at??row.started_at??b),b-1),j=p?.from??(ai===WHOLE_RUN?bg:b-ai),l=p?.to??(ai===WHOLE_RUN?endOf(f,b):b),lanes=lanesOf(e,f).map(({key:M,label:i,node:F,rows:f})=>({...lane(M,i,f,{from:j,to:l},b),node:F})),G=lanes.reduce((X,L)=>X+L.bars.reduce((s,a)=>s+a.number,0),0),aQ=`${count(G,"task run")} on ${count(lanes.length,"lane")} in ${age(l-j)}`,$=W?depthOfMeans(W,j,l):depthOf(f,j,l,b);
return{start:j,seconds:l-j,lanes,ticks:ticksOf(j,l,b),bands:bandsOf(f,{from:j,to:l},b),depth:$,words:aQ}}function endOf(f,b){const at=!f.length||f.some(row=>row.finished_at==null);
return at?b:Math.min(b,1+f.reduce((av,row)=>Math.max(av,row.finished_at??0),0))}function rowOf(row,e){const U=colourOf(e,subjectOf(row),row.actor_id||row.task_id);
return{...row,name:plain(row.name),cell:cellWords(e,row),colour:U,band:row.job?"":plain(row.cell).split(" ",1)[0]}}function holdingActors(e){return(e.actors??[]).filter(row=>row.state==="ALIVE"&&row.since!=null&&Object.keys(row.device_ids??{}).length).map(row=>({task_id:row.actor_id,actor_id:row.actor_id,name:row.class_name,state:"ALIVE",started_at:row.since,device_ids:row.device_ids,cell:row.cell,job:row.job}))}function lanesOf(e,f){const al=(e.devices??[]).filter(row=>row.offered!==false),ae=deviceLabels(e.devices??[]),aB=new Set(al.map(row=>row.node_id)).size>1,names=new Map((e.nodes??[]).map(F=>[F.node_id,plain(F.name)])),lanes=new Map(al.map(ap=>{const F=aB?hostWords(names.get(ap.node_id??"")??""):"";
return[laneName(ap),{key:laneName(ap),label:ae.get(ap)??"",node:F,rows:[]}]})),ay={key:"cpu",label:"CPU",node:"",rows:([])};
for(const row of f){if(row.started_at==null||row.kind==="actor creation")continue;
for(const o of lanesFor(row,lanes)){const g=lanes.get(o);
if(o===ay.key)ay.rows.push(row);
else if(g)g.rows.push(row);
else lanes.set(o,{key:o,label:plain(o.split("/").slice(1).join(" ")),node:"",rows:[row]})}}
return[...lanes.values(),...(ay.rows.length?[ay]:[])]}function lanesFor(row,lanes){if(row.lane)return[row.lane];
const names=Object.entries(row.device_ids??{}).flatMap(([ag,aH])=>aH.map(ad=>laneName({node_id:row.node_id,resource:ag,id:ad}))),g=o=>(row.node_id||lanes.has(o)?o:([...lanes.keys()].find(M=>M.endsWith(o))??o));
return names.length?names.map(g):["cpu"]}function bandsOf(f,p,b){const K=new Map();
for(const{band:y,started_at:from,finished_at:J}of f){if(!y||from==null)continue;
const g=K.get(y)??{from,to:from};
K.set(y,{from:Math.min(g.from,from),to:Math.max(g.to,J??b)})}
const D=[],bz=[...K].filter(([,{from,to:J}])=>from<p.to&&J>=p.from).sort((w,x)=>w[1].from-x[1].from);
return bz.map(([i,{from,to:J}])=>{const O=freeTrack(D,from,J,MOST_BANDS);
return{label:i,track:O,from:Math.max(from,p.from)-p.from,to:Math.min(J,p.to)-p.from}})}function freeTrack(D,from,J,I){let O=D.findIndex(l=>l<=from+1e-6);
if(O<0)O=Math.min(D.length,I-1);
D[O]=Math.max(D[O]??0,J);
return O}function lane(M,i,f,p,b){const bv=f.filter(row=>row.started_at!=null&&row.started_at<p.to&&(row.finished_at??b)>=p.from).sort((w,x)=>(w.started_at??0)-(x.started_at??0)),D=[],aj=merged(bv.map(row=>barOf(row,freeTrack(D,row.started_at??b,row.finished_at??b,MOST_TRACKS),p,b)),(p.to-p.from)/PIXELS);
return{key:M,label:i,tracks:Math.max(1,Math.min(D.length,MOST_TRACKS)),bars:aj}}function barOf(row,O,p,b){const k=stateWord(row.state),[from,Y,number]=[row.started_at??b,row.finished_at??b,row.number??1],aD=from-(row.submitted_at??from),aC=row.finished_at==null?age(Y-from):duration(Y-from),bf=[number>1?`${number} runs ${k&&`${k} `}within ${aC}`:`${k} ${aC}`.trim(),row.cell?`cell ${row.cell}`:"",aD>=1?`waited ${age(aD)} before`:"",`started ${clock(from,b)}`];
return{key:row.task_id,track:O,number,colour:row.colour,state:k,name:number>1?`${number} × ${row.name}`:row.name,of:row.name,facts:bf.filter(Boolean),from:Math.max(0,from-p.from),to:Math.min(p.to,Y)-p.from}}function merged(aj,aL){const aZ=[],av=new Map();
for(const a of aj){const d=av.get(a.track),a9=d?.of===a.of&&d.state===a.state&&a.to-a.from<aL&&d.narrow&&a.from-d.to<aL,aF=d&&a.track===MOST_TRACKS-1&&a.from<d.to-1e-6;
if(a9||aF){d.number+=a.number;
d.to=Math.max(d.to,a.to);
d.name=aF?`${d.number} runs side by side`:`${d.number} × ${a.of}`;
d.facts=[aF?`the first of ${d.of}`:`${d.number} runs ${a.state}`];
continue}
av.set(a.track,Object.assign(a,{narrow:a.to-a.from<aL}));
aZ.push(a)}
return aZ}function ticksOf(j,l,b){const B=[0.1,0.2,0.5,1,2,5,10,15,30,60,120,300,600,1800,3600,7200,21600,86400],r=B.find(L=>(l-j)/L<=6)??86400,z=[];
for(let _=Math.ceil((b-l)/r-1e-6)*r;_<=b-j+1e-6;_+=r){const i=_<r/2?"now":`−${r<1?duration(_):age(_+1e-6).replace(/ 00 (s|min)$/,"")}`;
z.push({at:b-_-j,label:i})}
return z}function traceOf(e,b){return(e.tasks??[]).flatMap(row=>eventsOf(row,b))}function eventsOf(row,b){const ab=[],ba={task_id:row.task_id,cell:row.cell??"",state:row.state};
const aq=(bi,lane,from,J)=>({cat:row.kind??"task",name:plain(row.name),ph:"X",pid:bi,tid:lane,ts:from*1e6,dur:Math.max(0,J-from)*1e6,args:ba});
if(row.submitted_at!=null&&row.finished_at==null&&row.started_at==null){ab.push(aq("waiting","waiting",row.submitted_at,b))}else if(row.submitted_at!=null&&row.started_at!=null){ab.push(aq("waiting","waiting",row.submitted_at,row.started_at))}
if(row.started_at==null)return ab;
const l=row.finished_at??b;
if(row.pid)ab.push(aq("workers",`worker ${row.pid}`,row.started_at,l));
for(const[ag,aH]of Object.entries(row.device_ids??{})){for(const ad of aH)ab.push(aq("devices",`${ag} ${ad}`,row.started_at,l))}
return ab}
const viewOfPast={accountsView,drawAccounts,drawLog,drawTimeline,timelineOf,traceOf,told:{accounting:withAccounts,runs:withRuns,task_log:withLog}};
return viewOfPast}
