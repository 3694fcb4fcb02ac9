import{D as e,E as t}from"./index-DwmAghV-.js";var n=`travertine.model.`;function r(){let e=[];try{for(let t=0;t<localStorage.length;t++){let r=localStorage.key(t),a=r?.startsWith(n)?i(r.slice(17)):null;r&&a&&e.push({id:r.slice(17),draft:a})}}catch{}return e.sort((e,t)=>t.draft.saved.localeCompare(e.draft.saved))}function i(t){try{let n=JSON.parse(e(`model.${t}`)??`null`);return n&&typeof n.xml==`string`?n:null}catch{return null}}function a(n,r){return t(`model.${n}`,r&&JSON.stringify(r)),r===null||e(`model.${n}`)!==null}function o(e){let t=e.replace(/\.bpmn$/,``).replace(/[^\w-]+/g,`-`).slice(0,40)||`model`;if(!i(t))return t;let n=2;for(;i(`${t}-${n}`);)n++;return`${t}-${n}`}function s(e){return`<?xml version="1.0" encoding="UTF-8"?>
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:bpmndi="http://www.omg.org/spec/BPMN/20100524/DI" xmlns:dc="http://www.omg.org/spec/DD/20100524/DC" xmlns:di="http://www.omg.org/spec/DD/20100524/DI" xmlns:tv="urn:travertine:bpmn:1" id="${e}-model" targetNamespace="urn:${e}">
  <process id="${e}" isExecutable="true">
    <startEvent id="start" />
  </process>
  <bpmndi:BPMNDiagram id="diagram">
    <bpmndi:BPMNPlane id="plane" bpmnElement="${e}">
      <bpmndi:BPMNShape id="start_di" bpmnElement="start">
        <dc:Bounds x="160" y="120" width="36" height="36" />
      </bpmndi:BPMNShape>
    </bpmndi:BPMNPlane>
  </bpmndi:BPMNDiagram>
</definitions>
`}export{a,o as i,i as n,r,s as t};