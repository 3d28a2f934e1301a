// A part of nbaccel's cockpit, joined from nbaccel/notebook/past/ by tools/join_cockpit.py. Change it there.
export default function(ax){const{LAST_MINUTE,PALETTE,WHOLE_RUN,age,button,cell,cellWords,clock,colourOf,count,deviceLabels,duration,empty,h,laneName,nameOf,nodeNames,plain,stateWord,subjectOf,table}=ax;
const MOST_ACCOUNTS=50,MOST_UNUSED=8,UNITS=([["hour",3600,36_000],["minute",60,600],["second",1,0]]);
function withAccounts(e,c){const D=c.time,a_=(bK,f,bC)=>new Map([...(bK??[]),...f.map(row=>([bC(row),{...row,at:D}]))]);
return{since:c.seq,functions:a_(e?.functions,c.functions,row=>row.name),cells:a_(e?.cells,c.cells,row=>`${row.job} ${row.name}`),devices:a_(e?.devices,c.devices,row=>row.device),known:c.known_seconds,held:c.held_seconds,at:D,leftOut:e?e.leftOut:c.left_out,hues:{...e?.hues,...c.hues}}}function accountsView(u,d,a){if(!u)return null;
const used=row=>row.device_seconds+row.devices*Math.max(0,a-row.at),f=bH=>[...bH].sort(([,C],[,E])=>used(E)-used(C)||E.seconds-C.seconds),[V,O]=[f(u.functions),f(u.cells).filter(([,row])=>row.name)],p=V.reduce((ae,[,row])=>ae+used(row),0),S=row=>row.seconds+row.running*Math.max(0,a-row.at),[A,aH]=unitOf(Math.max(p,...V.map(([,row])=>S(row)))),an=az=>quantity(az/aH),at=([v,row],bb)=>({key:v,name:bb?cellWords(d,{job:row.job,cell:row.name}):plain(row.name),runs:String(row.runs),failed:row.failed?String(row.failed):"",took:an(S(row)),used:p>0?an(used(row)):"",share:p>0?used(row)/p:0,shareWords:percent(p>0?used(row)/p:0),colour:bb?-1:colourOf({...d,hues:u.hues},row.name)}),bz=[...u.devices.values()].reduce((ae,row)=>ae+row.devices,0),bh=Math.max(0,a-u.at),g=u.known+bh*u.devices.size,bA=g>0?`, devices idle ${percent(1-(u.held+bh*bz)/g)} of the time`:"";
return{total:`${an(p)} device-${A}s in all${bA}`,unit:A,functions:V.slice(0,MOST_ACCOUNTS).map(row=>at(row,false)),cells:O.slice(0,MOST_ACCOUNTS).map(row=>at(row,true)),devices:heldViews(u,d,a,an),more:u.leftOut+Math.max(0,V.length-MOST_ACCOUNTS)+Math.max(0,O.length-MOST_ACCOUNTS)}}function heldViews(u,d,a,an){const ao=new Map([...deviceLabels(d.devices??[])].map(([row,i])=>[laneName(row),i])),aP=(d.nodes??[]).length>1,be=new Map(aP?[...nodeNames(d)].map(([W,r])=>[(W??"").slice(0,12),r]):[]),aA=[...u.devices.values()].map(row=>{const ac=row.held_seconds+row.devices*Math.max(0,a-row.at),[J,aq,...W]=row.device.split("/"),i=ao.get(aP?row.device:`/${aq}/${W.join("/")}`)??plain(`${aq} ${W.join("/")}`),share=a>row.since?Math.min(1,ac/(a-row.since)):0;
return{key:row.device,node:be.get(J)?.words??"",label:i,title:be.get(J)?.whole??"",held:ac?an(ac):"never",share,shareWords:percent(share),idle:a>row.since?percent(1-share):"unknown"}}),bg=new Map([...ao.keys()].map((v,D)=>[v,D])),Z=at=>bg.get(at.key)??bg.get(at.key.slice(at.key.indexOf("/")))??0;
aA.sort((C,E)=>Z(C)-Z(E));
const ag=aA.filter(({held:ac})=>ac==="never");
if(ag.length===aA.length)return[];
return ag.length>MOST_UNUSED?[together(ag),...aA.filter(({held:ac})=>ac!=="never")]:aA}function together(ag){return{...ag[0],key:"unused",node:"",label:count(ag.length,"device"),title:ag.map(({node:J,label:i})=>`${J} ${i}`.trim()).join(", ")}}function unitOf(I){return UNITS.find(([,,from])=>I>=from)??UNITS[0]}function percent(share){return share>0&&share<0.005?"< 1 %":`${Math.round(100*Math.max(0,share))} %`}function quantity(ah){if(ah>0&&ah<0.05)return"< 0.1";
return ah<100?String(Math.round(ah*10)/10):String(Math.round(ah))}
const PAST_STYLE=`
& td.number,& td.share{white-space:nowrap}
& .accounts table{table-layout:fixed}& .accounts th:first-child{width:30%}& .accounts th:last-child{width:28%}
& .accounts th[scope=row]{white-space:normal}& .accounts th .cut{max-width:24ch}
& .bar.plain .part{background:var(--edge)}
& td.share .bar{display:inline-flex;margin-right:8px;width:clamp(60px,17cqw,220px);height:8px}
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
& .timeline .depth{fill:${PALETTE.waiting};fill-opacity:.35;stroke:${PALETTE.waiting}}
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
@container (max-width:700px){& .accounts th[scope=row]{flex-basis:100%!important}}
@media (forced-colors:active){& .timeline .run,& .timeline .bar-name{forced-color-adjust:none}}
`.replaceAll("&",".nbaccel-cockpit.nbaccel-cockpit");
function drawAccounts({accounts:u}){if(!u)return null;
const{unit:A,functions:V,cells:O,devices:Q,more:bd}=u;
const aW=!V.length&&empty("Nothing has run yet. The device-seconds of each function and each cell, and the idle share of each device, appear here. A call is counted:","f.remote()");
return[h("style",{key:"look"},PAST_STYLE),aW||h("p",{key:"total"},h("strong",{},u.total)),V.length>0&&used("By function","Function",A,V),O.length>0&&used("By cell","Cell",A,O),Q.length>0&&onGrid("By device",["Device",`Held ${A}s`,"Idle","Held share"],Q.map(row=>heldRow(row,A))),bd>0&&h("p",{class:"quiet more",key:"more"},`and ${bd} more rows`)]}function used(a0,bU,A,f){const a8=f.some(row=>row.failed),Q=f.some(row=>row.used),S=`${A[0].toUpperCase()}${A.slice(1)}s in all`;
return onGrid(a0,[bU,"Runs",...(a8?["Failed"]:[]),S,...(Q?[`Device-${A}s`,"Share"]:[])],f.map(row=>h("tr",{key:row.key},h("th",{scope:"row"},row.colour<0?null:h("span",{class:`swatch c${row.colour}`,"aria-hidden":"true"}),nameOf(row.name)),number("runs",row.runs),a8&&number("failed",row.failed,"state failed"),number(`${A}s`,row.took),Q&&number(`device-${A}s`,row.used),Q&&cell([share(row.share,row.colour),row.shareWords],"share"))))}function onGrid(a0,br,f){const s=table(a0,br,f);
return{...s,props:{...s.props,class:"scroll accounts"}}}function heldRow(row,A){return h("tr",{key:row.key},h("th",{scope:"row",title:row.title||null},row.node&&h("span",{class:"quiet"},`${row.node} `),h("span",{class:"label"},row.label)),number(`held ${A}s`,row.held),number("idle",row.idle),cell([share(row.share,-1),row.shareWords],"share"))}function number(bx,aB,F){return h("td",{class:"number","data-head":bx},F&&aB?h("span",{class:F},aB):aB)}function share(aK,aa){return h("span",{class:aa<0?"bar plain":"bar","aria-hidden":"true"},h("span",{class:aa<0?"part":`part c${aa}`,style:`width:${Math.round(1000*aK)/10}%`}))}
const TRACK=20,GAP=8,DEPTH=28,BAND=15,AXIS=18,MOST_NAMES=8,LETTER=6.6,GUTTER_STEP=16,MOST_GUTTER=190;
function drawTimeline({timeline:y,ended:aT},l){if(!y)return[];
const a5=(au,i)=>button(i,{"data-act":"window","data-window":au,"aria-pressed":String(!l.range&&l.window===au)}),bn=(bS,M,i)=>button(bS,{"data-act":"zoom","data-by":M,"aria-label":i,title:i}),bT=h("div",{class:"filters",key:"tools",role:"group","aria-label":"Timeline"},a5(LAST_MINUTE,"Last minute"),a5(WHOLE_RUN,"Whole run"),bn("+",0.5,"Zoom in"),bn("−",2,"Zoom out"),l.range&&button("Follow",{key:"follow","data-act":"follow",title:"Show what happens now"}),button("Save as Chrome trace",{key:"trace","data-act":"trace"})),aZ=y.lanes.some(lane=>lane.bars.length)||y.depth.most>0;
if(!aZ&&!l.range&&(aT||l.window===WHOLE_RUN))return[empty("No task has run yet. A lane for each device is drawn here, with a bar for each run of a task:","f.remote()")];
const by=h("p",{class:"quiet small",key:"hint"},"Drag to look closer, Ctrl and the wheel or + and − to zoom, arrow keys to move, 0 to go back."),bP=!aZ&&h("p",{class:"quiet",key:"quiet"},"Nothing ran in this time. A call makes a bar here: ",h("code",{},"f.remote()"));
return[h("style",{key:"look"},PAST_STYLE),bT,bP,...(aZ||l.range?[lanes(y,l),names(y),by,hoverCard(y,l)]:[])]}function names({lanes:p}){const aN=new Map();
for(const b of p.flatMap(lane=>lane.bars)){aN.set(b.of,{runs:(aN.get(b.of)?.runs??0)+b.number,colour:aN.get(b.of)?.colour??b.colour})}
const bI=[...aN].sort((C,E)=>E[1].runs-C[1].runs).slice(0,MOST_NAMES);
return h("p",{class:"line small",key:"names"},bI.map(([r,{runs:number,colour:aa}])=>h("span",{key:r,class:"nowrap"},h("span",{class:`swatch c${aa}`,"aria-hidden":"true"})," ",nameOf(r),number>1&&` × ${number}`)))}function gutter({lanes:p,depth:P},w){const bG=Math.max(...p.map(({label:i})=>i.length),...(P.most>0?[P.words.length]:[]),"cells".length);
return Math.min(GUTTER_STEP*Math.ceil((bG*LETTER+14)/GUTTER_STEP),MOST_GUTTER,Math.round(0.3*w))}function lanes(y,l){const w=l.room,m=gutter(y,w);
l.lanes={width:w,left:m,right:w-10};
const bQ=(w-10-m)/y.seconds,k=az=>round(m+az*bQ);
let z=4;
const ak=[];
let J=("");
for(const lane of y.lanes){if(lane.node&&lane.node!==J){ak.push(h("text",{key:`node ${lane.node}`,x:4,y:z+BAND/2,class:"tick-label","dominant-baseline":"central"},lane.node,h("title",{},lane.nodeTitle)));
z+=BAND}
J=lane.node;
const B=z,am=lane.tracks*TRACK;
z+=am+GAP;
ak.push(h("g",{key:lane.key},laneLabel(lane.label,m,B+am/2),h("line",{x1:m,x2:w-10,y1:B+am+GAP/2,y2:B+am+GAP/2,class:"rule"}),lane.bars.map(b=>barShape(b,k,B))))}
if(y.depth.most>0){ak.push(strip(y,k,m,z));
z+=DEPTH+GAP}
const H=y.ticks.map(_=>h("line",{key:_.label,x1:k(_.at),x2:k(_.at),y1:0,y2:z,class:"tick"}));
return h("div",{class:"scroll",key:"lanes",tabindex:"0",role:"region","aria-label":"Timeline"},axis(y,k,m,w),h("svg",{viewBox:`0 0 ${w} ${z}`,role:"img","aria-label":y.words,class:"timeline"},H,ak))}function axis({ticks:H,bands:a2},k,m,w){const a1=Math.max(0,...a2.map(G=>G.track+1)),am=AXIS+a1*BAND,ao=apartFrom(H,k).map(_=>h("text",{key:_.label,x:Math.min(k(_.at),w-10),y:12,class:"tick-label","text-anchor":_.label==="now"?"end":"middle"},_.label)),ak=a2.map(G=>{const[from,B]=[k(G.from),AXIS+G.track*BAND],bm=Math.max(2,round(k(G.to)-from));
return h("g",{key:G.label},h("rect",{x:from,y:B,width:bm,height:BAND-2,rx:2,class:"band"},h("title",{},`cell ${G.label}`)),bm>7*G.label.length+4&&h("text",{x:from+4,y:B+BAND/2-1,class:"tick-label","dominant-baseline":"central"},G.label))});
return h("div",{class:"axis",key:"axis"},h("svg",{viewBox:`0 0 ${w} ${am}`,class:"timeline","aria-hidden":"true"},a1>0&&laneLabel("cells",m,AXIS+(a1*BAND)/2-1),ao,ak))}function apartFrom(H,k){if(H.length<2)return H;
const ay=7*Math.max(...H.map(({label:i})=>i.length))+4,bs=Math.ceil(ay/Math.max(1,k(H[0].at)-k(H[1].at)));
return H.filter((bV,X)=>X%bs===0)}function laneLabel(i,m,B){const I=Math.floor((m-12)/LETTER),bk=i.length>I?`${i.slice(0,I-1)}…`:i;
return h("text",{x:m-10,y:B,class:"lane","text-anchor":"end","dominant-baseline":"central"},bk,bk!==i&&h("title",{},i))}function strip({depth:P,seconds:az},k,m,z){const B=ai=>round(z+DEPTH-(ai/P.most)*(DEPTH-4)),K=P.steps.map(({at:D,waiting:ai})=>`H${k(D)}V${B(ai)}`).join("");
return h("g",{key:"depth"},laneLabel("waiting",m,z+DEPTH/2-6),h("text",{x:m-10,y:z+DEPTH/2+8,class:"tick-label","text-anchor":"end","dominant-baseline":"central"},P.words),h("path",{class:"depth",d:`M${k(0)} ${B(0)}${K}H${k(az)}V${B(0)}Z`},h("title",{},`${P.words} waited`)))}function barShape(b,k,B){const m=k(b.from),w=Math.max(1.5,round(k(b.to)-m)),z=B+b.track*TRACK,r=b.state==="failed"?`✕ ${b.name}`:b.name,ay=Math.floor((w-10)/7),s=r.length<=ay?r:ay>4?`${r.slice(0,ay-1)}…`:"";
return h("g",{key:b.key},h("rect",{x:m,y:z+1,width:w,height:TRACK-2,rx:2,class:`run c${b.colour} ${b.state}`,"data-bar":b.key}),s&&h("text",{x:m+6,y:z+TRACK/2,class:`bar-name c${b.colour}`,"dominant-baseline":"central"},s))}function hoverCard({lanes:p},{hover:aF}){const lane=aF.bar?p.find(ab=>ab.bars.some(b=>b.key===aF.bar)):null,b=lane?.bars.find(ab=>ab.key===aF.bar);
if(!lane||!b)return null;
return h("div",{class:"hover",key:"hover",style:aF.style},h("div",{},h("span",{class:`swatch c${b.colour}`,"aria-hidden":"true"}),h("span",{class:"name"},b.name)),[[lane.node,lane.label].filter(Boolean).join(" · "),...b.facts].map(a7=>h("div",{key:a7,class:"quiet small"},a7)))}function round(ah){return Math.round(ah*10)/10}
const MOST_CHARACTERS=200_000,MOST_LINES=2_000;
function withLog(e,c){const bi=[{text:c.out.text,err:false},{text:c.err.text,err:true}].filter(bO=>bO.text),bv=e&&(c.out.left_out||c.err.left_out)?[{text:"… too much was printed to show all of it …\n",err:true}]:[];
let Y=[...(e?.pieces??[]),...bv,...bi],bl=Y.reduce((ae,{text:R})=>ae+R.length,0);
while(bl>MOST_CHARACTERS&&Y.length>1){bl-=Y[0].text.length;
Y=Y.slice(1)}
return{pieces:Y,out:c.out.to,err:c.err.to,over:c.over,pid:c.pid?String(c.pid):"",done:c.over&&Boolean(e?.over)&&!bi.length,failure:c.failure,yours:c.yours??"",note:c.note,left:e?.left||Boolean(c.out.left_out||c.err.left_out)}}function logLines(Y){const aV=[],aX={false:null,true:null};
for(const{text:R,err:U}of Y){const ax=R.split("\n");
ax.forEach((aK,X)=>{const aI=aX[String(U)]??{text:"",err:U};
if(aX[String(U)]===null&&(aK||X<ax.length-1))aV.push(aI);
aI.text+=aK;
aX[String(U)]=X<ax.length-1?null:aV.includes(aI)?aI:null})}
return aV.map(({text:R,err:U})=>({text:plain(R.replace(/\r+$/,"").split("\r").at(-1)?.replaceAll("\t","    ")),err:U}))}function drawLog(l){const N=l.log;
if(!N)return null;
const g=(l.past.task_log?.data??null);
return h("section",{class:"log","aria-label":`Log of ${N.name}`},h("style",{key:"look"},PAST_STYLE),logHead(N,g),...failureOf(g),printed(N,g))}function logHead(N,g){return h("div",{class:"line",key:"head"},h("strong",{},`Log of ${N.name}`),g?.pid&&h("span",{class:"quiet"},`all that its process has printed, pid ${g.pid}`),g&&!g.over&&h("span",{class:"chip"},"live"),h("label",{class:"aside quiet"},"Search ",h("input",{type:"search","data-search":"log",value:N.search,"aria-label":`Search the log of ${N.name}`})),button("Close",{"data-act":"close-log","aria-label":"Close the log"}))}function failureOf(g){if(!g?.failure)return[];
const $=h("pre",{tabindex:"0","aria-label":"The whole traceback"},g.failure);
if(!g.yours||g.yours===g.failure)return[h("div",{key:"failure",class:"failure"},$)];
return[h("div",{key:"failure",class:"failure"},h("pre",{tabindex:"0","aria-label":"Your code in the traceback"},g.yours),h("details",{open:true},h("summary",{},"The whole traceback"),$))]}function printed(N,g){if(!g)return h("p",{class:"quiet",key:"none"},"Asking the kernel …");
const p=logLines(g.pieces),aO=N.search.trim().toLowerCase(),aD=aO?p.filter(({text:R})=>R.toLowerCase().includes(aO)):p,aW=g.note||(aO&&p.length?"No line has this text.":g.over?"It has printed nothing.":"It has printed nothing yet."),bf=[aO&&p.length&&`${aD.length} of ${count(p.length,"line")}`,g.left&&"the beginning is only in %accel_logs",aD.length>MOST_LINES&&`the last ${MOST_LINES} lines`].filter(Boolean);
return h("div",{key:"printed"},bf.length>0&&h("p",{class:"quiet",role:"status"},bf.join(" · ")),aD.length?h("pre",{class:"printed",tabindex:"0","aria-label":"What it has printed"},aD.slice(-MOST_LINES).map(({text:R,err:U},X)=>h("span",{key:`l${X}`,class:U?"err":null},`${R}\n`))):h("p",{class:"quiet"},aW))}
const COARSE=8;
function withRuns(e,c){const ba={...e?.hues,...c.hues};
if(c.whole||!e)return{since:c.seq,whole:c,later:null,hues:ba};
const bB=c.grain_s>COARSE*e.whole.grain_s;
return{...e,since:bB?0:e.whole.seq,later:c,hues:ba}}function pastRows(ad,d,a){const{whole:$,later:ap}=ad;
const bE=ap??$,bq={...d,hues:{...ad.hues,...d.hues}};
const f=(c,a9)=>{const bD=new Map(c.kinds.map(F=>[F.index,F]));
return(a9?c.running:c.ended).flatMap(({lane,bars:av})=>av.map(b=>row(c,laneIn(c.lanes[lane],d),b,(bD.get(b[0])),bq,a9,a)))};
return[...f($,false),...(ap?f(ap,false):[]),...f(bE,true)]}function row(c,lane,[,from,S,number=1,bj=0,aQ=0],F,d,aE,a){const n=c.origin+from/1000,L=aE?(d.ended?a:null):n+S/1000,l=aE&&d.ended?"ENDED_WITH_IT":F.state==="DEAD"?"ENDED":F.state;
return{task_id:`${lane} ${F.index} ${from} ${number} ${bj}`,lane,name:plain(F.function)+(number<0?" and others":""),state:number<0?"":l,number:Math.abs(number),submitted_at:n-aQ/1000,started_at:n,finished_at:L,cell:cellWords(d,F),band:F.job?"":plain(F.cell).split(" ",1)[0],colour:colourOf(d,F.function)+bj}}function laneIn(lane,d){return(d.nodes??[]).length>1||!lane.includes("/")?lane:lane.slice(lane.indexOf("/"))}function depthOf(f,n,q,a){const aR=new Map(),a4=(D,M)=>aR.set(D,(aR.get(D)??0)+M);
for(const row of f){const from=row.submitted_at,af=row.started_at??row.finished_at??a;
if(from==null||af<n||from>q||af-from<0.01)continue;
a4(Math.max(0,from-n),1);
a4(Math.min(q,af)-n,-1)}
let ai=0;
const K=[...aR].sort((C,E)=>C[0]-E[0]).map(([D,M])=>({at:D,waiting:(ai+=M)})),I=Math.max(0,...K.map(x=>x.waiting));
return{steps:K,most:I,words:`up to ${I}`}}function depthOfMeans({whole:$,later:ap},n,q){let K=[];
for(const c of ap?[$,ap]:[$]){K=K.filter(x=>x.at<c.waiting_from-n);
c.waiting.forEach((ai,X)=>K.push({at:c.waiting_from+X*c.waiting_step_s-n,waiting:ai}))}
const e=K.filter(x=>x.at<=0).pop(),s=K.filter(x=>x.at>0&&x.at<q-n);
if(e)s.unshift({at:0,waiting:e.waiting});
const I=Math.max(0,...s.map(x=>x.waiting));
return{steps:s,most:I,words:`up to about ${Math.max(1,Math.round(I))}`}}
const PIXELS=900,MOST_TRACKS=6,MOST_BANDS=3;
function timelineOf(d,au,a,j=null,ad=null){const f=ad?pastRows(ad,d,a):[...(d.tasks??[]),...holdingActors(d)].map(row=>rowOf(row,d)),bu=f.reduce((bF,row)=>Math.min(bF,row.submitted_at??row.started_at??a),a-1),n=j?.from??(au===WHOLE_RUN?bu:a-au),q=j?.to??(au===WHOLE_RUN?endOf(f,a):a),lanes=lanesOf(d,f).map(({key:v,label:i,node:J,nodeTitle:bJ,rows:f})=>({...lane(v,i,f,{from:n,to:q},a),node:J,nodeTitle:bJ})),s=lanes.reduce((ae,ab)=>ae+ab.bars.reduce((p,b)=>p+b.number,0),0),aB=`${count(s,"task run")} on ${count(lanes.length,"lane")} in ${age(q-n)}`,P=ad?depthOfMeans(ad,n,q):depthOf(f,n,q,a);
return{start:n,seconds:q-n,lanes,ticks:ticksOf(n,q,a),bands:bandsOf(f,{from:n,to:q},a),depth:P,words:aB}}function endOf(f,a){const aE=!f.length||f.some(row=>row.finished_at==null);
return aE?a:Math.min(a,1+f.reduce((aG,row)=>Math.max(aG,row.finished_at??0),0))}function rowOf(row,d){const aa=colourOf(d,subjectOf(row),row.actor_id||row.task_id);
return{...row,name:plain(row.name),cell:cellWords(d,row),colour:aa,band:row.job?"":plain(row.cell).split(" ",1)[0]}}function holdingActors(d){return(d.actors??[]).filter(row=>row.state==="ALIVE"&&row.since!=null&&Object.keys(row.device_ids??{}).length).map(row=>({task_id:row.actor_id,actor_id:row.actor_id,name:row.class_name,state:"ALIVE",started_at:row.since,device_ids:row.device_ids,cell:row.cell,job:row.job}))}function lanesOf(d,f){const Q=(d.devices??[]).filter(row=>row.offered!==false),ao=deviceLabels(d.devices??[]),aP=new Set(Q.map(row=>row.node_id)).size>1,names=nodeNames(d),lanes=new Map(Q.map(aC=>{const J=aP?names.get(aC.node_id):null;
return[laneName(aC),{key:laneName(aC),label:ao.get(aC)??"",node:J?.words??"",nodeTitle:J?.whole,rows:[]}]})),aL={key:"cpu",label:"CPU",node:"",nodeTitle:"",rows:([])};
for(const row of f){if(row.started_at==null||row.kind==="actor creation")continue;
for(const r of lanesFor(row,lanes)){const g=lanes.get(r);
if(r===aL.key)aL.rows.push(row);
else if(g)g.rows.push(row);
else lanes.set(r,{key:r,label:plain(r.split("/").slice(1).join(" ")),node:"",rows:[row]})}}
return[...lanes.values(),...(aL.rows.length?[aL]:[])]}function lanesFor(row,lanes){if(row.lane)return[row.lane];
const names=Object.entries(row.device_ids??{}).flatMap(([aq,aU])=>aU.map(W=>laneName({node_id:row.node_id,resource:aq,id:W}))),g=r=>(row.node_id||lanes.has(r)?r:([...lanes.keys()].find(v=>v.endsWith(r))??r));
return names.length?names.map(g):["cpu"]}function bandsOf(f,j,a){const O=new Map();
for(const{band:G,started_at:from,finished_at:t}of f){if(!G||from==null)continue;
const g=O.get(G)??{from,to:from};
O.set(G,{from:Math.min(g.from,from),to:Math.max(g.to,t??a)})}
const L=[],bR=[...O].filter(([,{from,to:t}])=>from<j.to&&t>=j.from).sort((C,E)=>C[1].from-E[1].from);
return bR.map(([i,{from,to:t}])=>{const T=freeTrack(L,from,t,MOST_BANDS);
return{label:i,track:T,from:Math.max(from,j.from)-j.from,to:Math.min(t,j.to)-j.from}})}function freeTrack(L,from,t,I){let T=L.findIndex(q=>q<=from+1e-6);
if(T<0)T=Math.min(L.length,I-1);
L[T]=Math.max(L[T]??0,t);
return T}function lane(v,i,f,j,a){const bM=f.filter(row=>row.started_at!=null&&row.started_at<j.to&&(row.finished_at??a)>=j.from).sort((C,E)=>(C.started_at??0)-(E.started_at??0)),L=[],av=merged(bM.map(row=>barOf(row,freeTrack(L,row.started_at??a,row.finished_at??a,MOST_TRACKS),j,a)),(j.to-j.from)/PIXELS);
return{key:v,label:i,tracks:Math.max(1,Math.min(L.length,MOST_TRACKS)),bars:av}}function barOf(row,T,j,a){const l=stateWord(row.state),[from,af,number]=[row.started_at??a,row.finished_at??a,row.number??1],aQ=from-(row.submitted_at??from),S=row.finished_at==null?age(af-from):duration(af-from),bt=[number>1?`${number} runs ${l&&`${l} `}within ${S}`:`${l} ${S}`.trim(),row.cell?`cell ${row.cell}`:"",aQ>=1?`waited ${age(aQ)} before`:"",`started ${clock(from,a)}`];
return{key:row.task_id,track:T,number,colour:row.colour,state:l,name:number>1?`${number} × ${row.name}`:row.name,of:row.name,facts:bt.filter(Boolean),from:Math.max(0,from-j.from),to:Math.min(j.to,af)-j.from}}function merged(av,aY){const bc=[],aG=new Map();
for(const b of av){const e=aG.get(b.track),bo=e?.of===b.of&&e.state===b.state&&b.to-b.from<aY&&e.narrow&&b.from-e.to<aY,aS=e&&b.track===MOST_TRACKS-1&&b.from<e.to-1e-6;
if(bo||aS){e.number+=b.number;
e.to=Math.max(e.to,b.to);
e.name=aS?`${e.number} runs side by side`:`${e.number} × ${b.of}`;
e.facts=[aS?`the first of ${e.of}`:`${e.number} runs ${b.state}`];
continue}
aG.set(b.track,Object.assign(b,{narrow:b.to-b.from<aY}));
bc.push(b)}
return bc}function ticksOf(n,q,a){const K=[0.1,0.2,0.5,1,2,5,10,15,30,60,120,300,600,1800,3600,7200,21600,86400],x=K.find(ab=>(q-n)/ab<=6)??86400,H=[];
for(let aj=Math.ceil((a-q)/x-1e-6)*x;aj<=a-n+1e-6;aj+=x){const i=aj<x/2?"now":`−${x<1?duration(aj):age(aj+1e-6).replace(/ 00 (s|min)$/,"")}`;
H.push({at:a-aj-n,label:i})}
return H}function saveTrace(bN,d,a){const aJ=bN.createElement("a");
aJ.href=URL.createObjectURL(new Blob([JSON.stringify(traceOf(d,a))],{type:"application/json"}));
aJ.download="nbaccel-trace.json";
aJ.click();
setTimeout(()=>URL.revokeObjectURL(aJ.href),1000)}function traceOf(d,a){return(d.tasks??[]).flatMap(row=>eventsOf(row,a))}function eventsOf(row,a){const al=[],bp={task_id:row.task_id,cell:row.cell??"",state:row.state};
const o=(bw,lane,from,t)=>({cat:row.kind??"task",name:plain(row.name),ph:"X",pid:bw,tid:lane,ts:from*1e6,dur:Math.max(0,t-from)*1e6,args:bp});
if(row.submitted_at!=null&&row.finished_at==null&&row.started_at==null){al.push(o("waiting","waiting",row.submitted_at,a))}else if(row.submitted_at!=null&&row.started_at!=null){al.push(o("waiting","waiting",row.submitted_at,row.started_at))}
if(row.started_at==null)return al;
const q=row.finished_at??a;
if(row.pid)al.push(o("workers",`worker ${row.pid}`,row.started_at,q));
for(const[aq,aU]of Object.entries(row.device_ids??{})){for(const W of aU)al.push(o("devices",`${aq} ${W}`,row.started_at,q))}
return al}
const LEAST_S=0.05,LEAST_DRAG_PX=6,drags=new WeakMap();
function zoomed({from,to:t},M,Z=0.5){const aH=Math.max(LEAST_S,(t-from)*M),D=from+(t-from)*Z;
return{from:D-aH*Z,to:D+aH*(1-Z)}}function movedBy({from,to:t},share){const M=(t-from)*share;
return{from:from+M,to:t+M}}function keyed(v,j){if(v==="+"||v==="=")return{range:zoomed(j,0.5)};
if(v==="-")return{range:zoomed(j,2)};
if(v==="ArrowLeft")return{range:movedBy(j,-0.2)};
if(v==="ArrowRight")return{range:movedBy(j,0.2)};
return v==="0"||v==="Home"?{range:null}:null}function rangeOf(o,aM,l,s){if(o.type==="keydown")return rangeOfKey((o),s);
const{clientX:k,button}=(o);
const ar=(o.target).closest?.("svg.timeline");
if(o.type==="wheel")return ar?rangeOfWheel((o),placeOf(ar,k,l),s):undefined;
const aw=drags.get(aM);
drags.delete(aM);
if(o.type==="pointerdown")return void(ar&&button===0&&drags.set(aM,{x:k,place:placeOf(ar,k,l)}));
const lanes=aM.querySelector("svg.timeline");
return aw&&lanes&&Math.abs(k-aw.x)>=LEAST_DRAG_PX?rangeOfDrag(aw.place,placeOf(lanes,k,l),s):undefined}function rangeOfKey(o,s){const bL=(o.target).matches?.('.scroll[aria-label="Timeline"]'),a6=bL&&!o.ctrlKey&&!o.metaKey?keyed(o.key,s):null;
if(a6)o.preventDefault();
return a6?.range}function rangeOfWheel(o,Z,s){if(!o.ctrlKey&&!o.metaKey)return undefined;
o.preventDefault();
return zoomed(s,o.deltaY>0?1.25:0.8,Z)}function rangeOfDrag(aw,aT,{from,to:t}){const[m,a$]=[aw,aT].sort((C,E)=>C-E),j={from:from+(t-from)*m,to:from+(t-from)*a$};
return j.to-j.from>=LEAST_S?j:undefined}function placeOf(ar,k,{lanes:{width:w,left:m,right:a$}}){const a3=ar.getBoundingClientRect();
return Math.min(1,Math.max(0,(((k-a3.left)/a3.width)*w-m)/(a$-m)))}
const viewOfPast={accountsView,drawAccounts,drawLog,drawTimeline,rangeOf,saveTrace,timelineOf,zoomed,told:{accounting:withAccounts,runs:withRuns,task_log:withLog}};
return viewOfPast}
