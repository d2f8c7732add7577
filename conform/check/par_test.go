package check_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
)

// singleRequest is a request that breaks one rule or, with an empty rule, the nearest
// legal neighbour of one. MODEL: names a Gemini model, HEADERS: adds headers.
type singleRequest struct{ check, rule, path, request string }

var parameters = []singleRequest{
	{"PAR-001/below-max", "A-25", "thinking.budget_tokens", `{"model":"claude-opus-4-5","max_tokens":1024,"thinking":{"type":"enabled","budget_tokens":1024},MSG}`},
	{"PAR-001/below-max", "", "", `{"model":"claude-opus-4-5","max_tokens":1025,"thinking":{"type":"enabled","budget_tokens":1024},MSG}`},
	{"PAR-001/minimum", "A-7", "thinking.budget_tokens", `{"model":"claude-opus-4-5","max_tokens":4096,"thinking":{"type":"enabled","budget_tokens":512},MSG}`},
	{"PAR-001/minimum", "", "", `{"model":"claude-opus-4-5","max_tokens":4096,"thinking":{"type":"enabled","budget_tokens":1024},MSG}`},
	{"PAR-002/thinking", "A-27", "temperature", `{"model":"claude-opus-4-6","max_tokens":9,"temperature":0.2,"thinking":{"type":"adaptive"},MSG}`},
	{"PAR-002/thinking", "A-27", "top_k", `{"model":"claude-opus-4-6","max_tokens":9,"top_k":5,"thinking":{"type":"adaptive"},MSG}`},
	{"PAR-002/thinking", "", "", `{"model":"claude-opus-4-6","max_tokens":9,"temperature":1,"top_p":0.95,"thinking":{"type":"adaptive"},MSG}`},
	{"PAR-002/model", "A-31", "top_p", `{"model":"claude-opus-4-7","max_tokens":9,"top_p":0.9,MSG}`},
	{"PAR-002/model", "", "", `{"model":"claude-opus-4-7","max_tokens":9,"temperature":1,MSG}`},
	{"PAR-002/one", "A-31", "top_p", `{"model":"claude-haiku-4-5","max_tokens":9,"temperature":0.5,"top_p":0.9,MSG}`},
	{"PAR-002/one", "A-31", "top_p", `{"model":"claude-opus-4-6","max_tokens":9,"temperature":1,"top_p":0.9,"thinking":{"type":"disabled"},MSG}`},
	{"PAR-002/one", "", "", `{"model":"claude-opus-4-5","max_tokens":9,"temperature":0.5,"top_k":9,MSG}`},
	{"PAR-002/one", "", "", `{"model":"claude-opus-4-6","max_tokens":9,"temperature":1,"top_p":0.95,"thinking":{"type":"adaptive"},MSG}`},
	{"PAR-002/reasoning", "O-24", "temperature", `{"model":"gpt-5","temperature":0.2,"input":"hi"}`},
	{"PAR-002/reasoning", "O-24", "top_p", `{"model":"gpt-5.2","reasoning":{"effort":"low"},"top_p":0.2,"input":"hi"}`},
	{"PAR-002/reasoning", "O-34", "include", `{"model":"gpt-5-mini","include":["message.output_text.logprobs"],"top_logprobs":3,"input":"hi"}`},
	{"PAR-002/reasoning", "O-34", "top_logprobs", `{"model":"gpt-5-mini","top_logprobs":3,"input":"hi"}`},
	{"PAR-002/reasoning", "", "", `{"model":"gpt-5-mini","top_logprobs":0,"include":["reasoning.encrypted_content"],"input":"hi"}`},
	{"PAR-002/reasoning", "", "", `{"model":"gpt-5.2","reasoning":{"effort":"none"},"include":["message.output_text.logprobs"],"top_logprobs":3,"input":"hi"}`},
	{"PAR-002/reasoning", "", "", `{"model":"gpt-4.1","include":["message.output_text.logprobs"],"top_logprobs":3,"input":"hi"}`},
	{"PAR-002/reasoning", "", "", `{"model":"gpt-5.6","reasoning":{"effort":"low"},"temperature":1.0,"input":"hi"}`},
	{"PAR-003/type", "A-28", "thinking.type", `{"model":"claude-opus-4-7","max_tokens":4096,"thinking":{"type":"enabled","budget_tokens":1024},MSG}`},
	{"PAR-003/type", "A-29", "thinking.type", `{"model":"claude-sonnet-4-5","max_tokens":4096,"thinking":{"type":"adaptive"},MSG}`},
	{"PAR-003/type", "A-30", "thinking.type", `{"model":"claude-opus-5-5","max_tokens":4096,"thinking":{"type":"disabled"},MSG}`},
	{"PAR-003/type", "A-30", "thinking.type", `{"model":"claude-opus-5","max_tokens":4096,"thinking":{"type":"disabled"},"output_config":{"effort":"max"},MSG}`},
	{"PAR-003/type", "", "", `{"model":"claude-opus-5","max_tokens":4096,"thinking":{"type":"disabled"},"output_config":{"effort":"high"},MSG}`},
	{"PAR-004/effort", "A-32", "output_config.effort", `{"model":"claude-opus-4-6","max_tokens":9,"output_config":{"effort":"xhigh"},MSG}`},
	{"PAR-004/effort", "A-32", "output_config.effort", `{"model":"claude-sonnet-4-5","max_tokens":9,"output_config":{"effort":"low"},MSG}`},
	{"PAR-004/effort", "", "", `{"model":"claude-opus-4-7","max_tokens":9,"output_config":{"effort":"xhigh"},MSG}`},
	{"PAR-004/effort", "O-23", "reasoning.effort", `{"model":"gpt-5.2","reasoning":{"effort":"minimal"},"input":"hi"}`},
	{"PAR-004/effort", "O-22", "reasoning.effort", `{"model":"gpt-4.1","reasoning":{"effort":"low"},"input":"hi"}`},
	{"PAR-004/effort", "", "", `{"model":"gpt-5","reasoning":{"effort":"minimal"},"input":"hi"}`},
	{"PAR-004/encrypted-content", "O-21", "include", `{"model":"gpt-4.1","include":["reasoning.encrypted_content"],"input":"hi"}`},
	{"PAR-004/encrypted-content", "", "", `{"model":"gpt-5.2","include":["reasoning.encrypted_content"],"input":"hi"}`},
	{"PAR-005/has-tools", "A-23", "tool_choice", `{"model":"claude-opus-4-6","max_tokens":9,"tool_choice":{"type":"auto"},MSG}`},
	{"PAR-005/has-tools", "O-29", "tool_choice", `{"model":"gpt-5.2","tool_choice":"required","input":"hi"}`},
	{"PAR-005/has-tools", "G-27", "toolConfig.functionCallingConfig", `MODEL:gemini-3-flash-preview {"contents":[{"parts":[{"text":"hi"}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}}`},
	{"PAR-005/has-tools", "", "", `{"model":"claude-opus-4-6","max_tokens":9,"tool_choice":{"type":"auto"},"tools":[{"name":"a","input_schema":{"type":"object"}}],MSG}`},
	{"PAR-005/named-tool", "A-23", "tool_choice", `{"model":"claude-opus-4-6","max_tokens":9,"tool_choice":{"type":"tool","name":"b"},"tools":[{"name":"a","input_schema":{"type":"object"}}],MSG}`},
	{"PAR-005/named-tool", "O-29", "tool_choice", `{"model":"gpt-5.2","tool_choice":{"type":"function","name":"b"},"tools":[{"type":"function","name":"a","parameters":null}],"input":"hi"}`},
	{"PAR-005/named-tool", "G-27", "toolConfig.functionCallingConfig", `MODEL:gemini-3-flash-preview {"contents":[{"parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{"name":"a"}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["b"]}}}`},
	{"PAR-005/named-tool", "", "", `{"model":"gpt-5.2","tool_choice":{"type":"function","name":"a"},"tools":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"a"}]}],"input":"hi"}`},
	{"PAR-005/forced", "A-26", "tool_choice", `{"model":"claude-opus-4-5","max_tokens":4096,"thinking":{"type":"enabled","budget_tokens":1024},"tool_choice":{"type":"any"},"tools":[{"name":"a","input_schema":{"type":"object"}}],MSG}`},
	{"PAR-005/forced", "A-33", "tool_choice", `{"model":"claude-fable-5","max_tokens":4096,"tool_choice":{"type":"any"},"tools":[{"name":"a","input_schema":{"type":"object"}}],MSG}`},
	{"PAR-005/forced", "", "", `{"model":"claude-opus-4-6","max_tokens":4096,"thinking":{"type":"adaptive"},"tool_choice":{"type":"any"},"tools":[{"name":"a","input_schema":{"type":"object"}}],MSG}`},
	{"PAR-006/known", "A-5", "foo", `{"model":"claude-opus-4-6","max_tokens":9,"foo":1,MSG}`},
	{"PAR-006/known", "A-5", "tools[0].parameters", `{"model":"claude-opus-4-6","max_tokens":9,"tools":[{"name":"a","input_schema":{"type":"object"},"parameters":{}}],MSG}`},
	{"PAR-006/known", "O-4", "input[0].foo", `{"model":"gpt-5.2","input":[{"role":"user","content":"hi","foo":1}]}`},
	{"PAR-006/known", "G-3", "contents[0].parts[0].functionCall.thoughtSignature", `MODEL:gemini-3-flash-preview {"contents":[{"role":"model","parts":[{"functionCall":{"name":"a","args":{},"thoughtSignature":"EjQK"}}]}]}`},
	{"PAR-006/known", "G-3", "tools[0].functionDeclarations[0].parameters.$schema", `MODEL:gemini-3-flash-preview {"contents":[{"parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{"name":"a","parameters":{"$schema":"x","type":"object"}}]}]}`},
	{"PAR-006/known", "", "", `{"model":"gpt-5.2","input":[{"role":"user","content":"hi","internal_chat_message_metadata_passthrough":{}},{"type":"compaction_trigger","foo":1}]}`},
	{"PAR-006/known", "", "", `MODEL:gemini-3-flash-preview {"contents":[{"parts":[{"text":"hi"}]}],"generation_config":{"max_output_tokens":9},"tools":[{"function_declarations":[{"name":"a","parameters_json_schema":{"$schema":"x"}}]}]}`},
	{"PAR-006/required", "A-6", "max_tokens", `{"model":"claude-opus-4-6",MSG}`},
	{"PAR-006/required", "A-8", "messages", `{"model":"claude-opus-4-6","max_tokens":9,"messages":[]}`},
	{"PAR-006/required", "O-3", "tools[0].name", `{"model":"gpt-5.2","tools":[{"type":"function"}],"input":"hi"}`},
	{"PAR-006/required", "G-4", "contents", `MODEL:gemini-3-flash-preview {"contents":[]}`},
	{"PAR-006/required", "", "", `{"model":"claude-opus-4-6","max_tokens":0,MSG}`},
	{"PAR-007/type", "A-7", "max_tokens", `{"model":"claude-opus-4-6","max_tokens":"9",MSG}`},
	{"PAR-007/type", "A-7", "tool_choice.disable_parallel_tool_use", `{"model":"claude-opus-4-6","max_tokens":9,"tools":[{"name":"a","input_schema":{"type":"object"}}],"tool_choice":{"type":"auto","disable_parallel_tool_use":1},MSG}`},
	{"PAR-007/type", "O-5", "truncation", `{"model":"gpt-5.2","truncation":"always","input":"hi"}`},
	{"PAR-007/type", "G-3", "toolConfig.functionCallingConfig.mode", `MODEL:gemini-3-flash-preview BAD{"contents":[{"parts":[{"text":"hi"}]}],"toolConfig":{"functionCallingConfig":{"mode":"SOME"}}}`},
	{"PAR-007/type", "", "", `{"model":"gpt-5.2","truncation":null,"temperature":null,"input":"hi"}`},
	{"PAR-007/range", "A-7", "temperature", `{"model":"claude-opus-4-6","max_tokens":9,"temperature":1.5,MSG}`},
	{"PAR-007/range", "O-6", "max_output_tokens", `{"model":"gpt-5.2","max_output_tokens":10,"input":"hi"}`},
	{"PAR-007/range", "G-28", "generationConfig.temperature", `MODEL:gemini-3-flash-preview {"contents":[{"parts":[{"text":"hi"}]}],"generationConfig":{"temperature":2.5}}`},
	{"PAR-007/range", "", "", `{"model":"gpt-5.2","max_output_tokens":16,"temperature":2,"input":"hi"}`},
	{"PAR-007/max-output", "A-7", "max_tokens", `{"model":"claude-opus-4-5","max_tokens":128001,MSG}`},
	{"PAR-007/max-output", "", "", `{"model":"claude-opus-4-5","max_tokens":64000,MSG}`},
	{"PAR-008/names", "A-21", "tools[0]", `{"model":"claude-opus-4-6","max_tokens":9,"tools":[{"name":"a.b","input_schema":{"type":"object"}}],MSG}`},
	{"PAR-008/names", "O-18", "tools[0]", `{"model":"gpt-5.2","tools":[{"type":"function","name":"a.b"}],"input":"hi"}`},
	{"PAR-008/names", "G-11", "tools[0].functionDeclarations[0]", `MODEL:gemini-3-flash-preview {"contents":[{"parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{"name":"1a"}]}]}`},
	{"PAR-008/names", "", "", `MODEL:gemini-3-flash-preview {"contents":[{"parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{"name":"a.b:c-d"}]}]}`},
	{"PAR-008/unique", "A-21", "tools[1]", `{"model":"claude-opus-4-6","max_tokens":9,"tools":[{"name":"a","input_schema":{"type":"object"}},{"name":"a","input_schema":{"type":"object"}}],MSG}`},
	{"PAR-008/unique", "G-11", "tools[1].functionDeclarations[0]", `MODEL:gemini-3-flash-preview {"contents":[{"parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{"name":"a"}]},{"functionDeclarations":[{"name":"a"}]}]}`},
	{"PAR-008/unique", "", "", `{"model":"gpt-5.2","tools":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"a"}]},{"type":"function","name":"a"}],"input":"hi"}`},
	{"PAR-008/schema", "A-6", "tools[0].input_schema", `{"model":"claude-opus-4-6","max_tokens":9,"tools":[{"name":"a","input_schema":{"properties":{}}}],MSG}`},
	{"PAR-008/schema", "A-7", "tools[0].input_schema.properties.x.type", `{"model":"claude-opus-4-6","max_tokens":9,"tools":[{"name":"a","input_schema":{"type":"object","properties":{"x":{"type":"str"}}}}],MSG}`},
	{"PAR-008/schema", "O-20", "tools[0].parameters", `{"model":"gpt-5.2","tools":[{"type":"function","name":"a","parameters":{"type":"string"}}],"input":"hi"}`},
	{"PAR-008/schema", "O-20", "tools[0].parameters.properties.x.items", `{"model":"gpt-5.2","tools":[{"type":"function","name":"a","parameters":{"type":"object","properties":{"x":{"type":"array"}}}}],"input":"hi"}`},
	{"PAR-008/schema", "G-3", "tools[0].functionDeclarations[0].parameters.properties.x.type", `MODEL:gemini-3-flash-preview {"contents":[{"parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{"name":"a","parameters":{"type":"object","properties":{"x":{"type":["string","null"]}}}}]}]}`},
	{"PAR-008/schema", "", "", `{"model":"claude-opus-4-6","max_tokens":9,"tools":[{"name":"a","input_schema":{"type":"object","properties":{"x":{"type":["string","null"]},"y":{"type":"array"},"z":true}}},{"type":"web_search_20250305","name":"web_search"}],MSG}`},
	{"PAR-008/schema", "", "", `MODEL:gemini-3-flash-preview {"contents":[{"parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{"name":"a","parametersJsonSchema":{"type":"object","properties":{"x":{"type":["string","null"]}}}},{"name":"b","parameters":{"type":"OBJECT"}}]}]}`},
	{"PAR-008/strict", "O-19", "tools[0].parameters", `{"model":"gpt-5.2","tools":[{"type":"function","name":"a","strict":true,"parameters":{"type":"object","additionalProperties":false,"properties":{"x":{"type":"string"}},"required":[]}}],"input":"hi"}`},
	{"PAR-008/strict", "A-48", "tools[0].input_schema", `{"model":"claude-opus-4-6","max_tokens":9,"tools":[{"name":"a","strict":true,"input_schema":{"type":"object","properties":{}}}],MSG}`},
	{"PAR-008/strict", "", "", `{"model":"gpt-5.2","tools":[{"type":"function","name":"a","strict":true,"parameters":{"type":"object","additionalProperties":false,"properties":{"x":{"type":"string"}},"required":["x"]}}],"input":"hi"}`},
	{"PAR-010/media-type", "A-46", "messages[0].content[0].source", `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/bmp","data":"Qk0="}}]}]}`},
	{"PAR-010/media-type", "A-46", "messages[0].content[0].source", `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"/9j/4AAQSkZJRgABAQ=="}}]}]}`},
	{"PAR-010/media-type", "O-30", "input[0].content[0].image_url", `{"model":"gpt-5.2","input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/bmp;base64,Qk0="}]}]}`},
	{"PAR-010/media-type", "", "", `{"model":"gpt-5.2","input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="},{"type":"input_image","image_url":"https://example.com/a.bmp"}]}]}`},
	{"PAR-010/base64", "A-46", "messages[0].content[0].content[0].source", `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"not base64!"}}]}]}]}`},
	{"PAR-010/base64", "", "", `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]}]}`},
	{"PAR-010/size", "A-46", "messages[0].content[0].source", `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAAKAAAAAAB"}}]}]}`},
	{"PAR-010/size", "", "", `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB"}}]}]}`},
	{"PAR-010/file", "O-30", "input[0].content[0].file_data", `{"model":"gpt-5.2","input":[{"role":"user","content":[{"type":"input_file","filename":"a.mp3","file_data":"data:audio/mpeg;base64,SUQz"}]}]}`},
	{"PAR-010/file", "O-30", "input[0].content[0].file_data", `{"model":"gpt-5.2","input":[{"role":"user","content":[{"type":"input_file","filename":"a.pdf","file_data":"JVBERi0="}]}]}`},
	{"PAR-010/file", "", "", `{"model":"gpt-5.2","input":[{"role":"user","content":[{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0="}]}]}`},
	{"PAR-013/circulation", "G-26", "toolConfig.includeServerSideToolInvocations", `MODEL:gemini-2.5-flash {"contents":[{"parts":[{"text":"hi"}]}],"toolConfig":{"includeServerSideToolInvocations":true}}`},
	{"PAR-013/circulation", "", "", `MODEL:gemini-3-flash-preview {"contents":[{"parts":[{"text":"hi"}]}],"toolConfig":{"includeServerSideToolInvocations":true}}`},
	{"PAR-005/has-tools", "", "", `{"model":"gpt-5.2","tool_choice":"auto","input":"hi"}`},
	{"PAR-006/known", "A-7", "messages[0].content[0]", `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":[{"type":"input_text","text":"hi"}]}]}`},
	{"PAR-006/known", "O-16", "input[0].content[0]", `{"model":"gpt-5.2","input":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`},
	{"PAR-006/known", "A-7", "tool_choice", `{"model":"claude-opus-4-6","max_tokens":9,"tools":[{"name":"a","input_schema":{"type":"object"}}],"tool_choice":{"type":"required"},MSG}`},
	{"PAR-006/known", "", "", `{"model":"claude-opus-4-6","max_tokens":9,"tools":[{"type":"web_search_20990101","name":"web_search"}],"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"x","input":{}}]}]}`},
	{"PAR-006/required", "O-3", "model", `{"input":"hi"}`},
	{"PAR-007/type", "A-7", "system", `{"model":"claude-opus-4-6","max_tokens":9,"system":null,MSG}`},
	{"PAR-007/type", "O-5", "input[0].output", `{"model":"gpt-5.2","input":[{"type":"function_call_output","call_id":"c","output":{"a":1}}]}`},
	{"PAR-007/type", "A-7", "messages[0].content[0].content[0]", `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":["done"]}]}]}`},
	{"PAR-007/range", "G-28", "generationConfig.stopSequences", `MODEL:gemini-3-flash-preview {"contents":[{"parts":[{"text":"hi"}]}],"generationConfig":{"stopSequences":["a","b","c","d","e","f"]}}`},
	{"PAR-007/range", "A-7", "stop_sequences", `{"model":"claude-opus-4-6","max_tokens":9,"stop_sequences":["END","\n"],MSG}`},
	{"PAR-007/range", "", "", `{"model":"claude-opus-4-6","max_tokens":9,"stop_sequences":["\nEND"],MSG}`},
	{"PAR-007/range", "O-33", "text.format.type", `{"model":"gpt-5.2","text":{"format":{"type":"json_object"}},"instructions":"Answer in JSON.","input":"hi"}`},
	{"PAR-007/range", "", "", `{"model":"gpt-5.2","text":{"format":{"type":"json_object"}},"input":[{"role":"developer","content":"Answer in JSON."}]}`},
	{"PAR-007/range", "", "", `{"model":"gpt-5.2","text":{"format":{"type":"json_object"}},"previous_response_id":"resp_1","input":"hi"}`},
	{"PAR-008/schema", "G-12", "tools[0].functionDeclarations[0].parameters", `MODEL:gemini-3-flash-preview {"contents":[{"parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{"name":"a","parameters":{"type":"object"},"parametersJsonSchema":{"type":"object"}}]}]}`},
	{"PAR-008/strict", "A-48", "tools[0].input_schema", `{"model":"claude-opus-4-6","max_tokens":9,"tools":[{"name":"a","strict":true,"input_schema":{"type":"object","additionalProperties":false,"properties":{"x":{"$ref":"#/$defs/n"}},"required":["x"],"$defs":{"n":{"type":"object","additionalProperties":false,"properties":{"next":{"$ref":"#/$defs/n"}},"required":["next"]}}}}],MSG}`},
	{"PAR-011/betas", "A-4", "anthropic-beta", `HEADERS:Anthropic-Beta=no-such-beta-1999-01-01 {"model":"claude-opus-4-6","max_tokens":9,MSG}`},
	{"PAR-011/headers", "A-1", "anthropic-version", `HEADERS:User-Agent=x,Accept=x,X-Api-Key=x {"model":"claude-opus-4-6","max_tokens":9,MSG}`},
	{"PAR-011/headers", "", "", `HEADERS:User-Agent=x,Accept=x,Anthropic-Version=2023-06-01 {"model":"claude-opus-4-6","max_tokens":9,MSG}`},
	{"PAR-011/betas", "A-4", "anthropic-beta", `HEADERS:Anthropic-Beta=compact {"model":"claude-opus-4-6","max_tokens":9,MSG}`},
	{"PAR-011/betas", "", "", `HEADERS:Anthropic-Beta=compact-2026-01-12 {"model":"claude-opus-4-6","max_tokens":9,MSG}`},
	{"PAR-011/beta-members", "A-5", "mcp_servers", `HEADERS:Anthropic-Beta=compact-2026-01-12 {"model":"claude-opus-4-6","max_tokens":9,"mcp_servers":[],MSG}`},
	{"PAR-011/beta-members", "", "", `HEADERS:Anthropic-Beta=mcp-client-2025-11-20 {"model":"claude-opus-4-6","max_tokens":9,"mcp_servers":[],MSG}`},
	{"PAR-011/beta-members", "A-5", "messages[1].output_config", `HEADERS:Anthropic-Beta=effort-2025-11-24 {"model":"claude-opus-5-5","max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"system","content":"x","output_config":{"effort":"low"}}]}`},
	{"PAR-011/beta-members", "", "", `HEADERS:Anthropic-Beta=mid-conversation-output-config-2026-07-01 {"model":"claude-opus-5-5","max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"system","content":"x","output_config":{"effort":"low"}}]}`},
	{"PAR-011/beta-members", "", "", `HEADERS:Anthropic-Beta=per-turn-control-2026-07-01 {"model":"claude-opus-5-5","max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"system","content":"x","output_config":{"effort":"low"}}]}`},
	{"PAR-012/exclusive", "O-26", "previous_response_id", `{"model":"gpt-5.2","previous_response_id":"resp_1","conversation":"conv_1","input":"hi"}`},
	{"PAR-012/exclusive", "O-3", "input", `{"model":"gpt-5.2"}`},
	{"PAR-012/exclusive", "", "", `{"model":"gpt-5.2","previous_response_id":"resp_1"}`},
	{"PAR-013/one-of", "G-23", "generationConfig.thinkingConfig.thinkingBudget", `MODEL:gemini-3-flash-preview {"contents":[{"parts":[{"text":"hi"}]}],"generationConfig":{"thinkingConfig":{"thinkingBudget":1,"thinkingLevel":"LOW"}}}`},
	{"PAR-013/one-of", "", "", `MODEL:gemini-3-flash-preview {"contents":[{"parts":[{"text":"hi"}]}],"generationConfig":{"thinkingConfig":{"thinkingLevel":"LOW"}}}`},
	{"PAR-013/level", "G-24", "generationConfig.thinkingConfig.thinkingLevel", `MODEL:gemini-3.1-pro-preview {"contents":[{"parts":[{"text":"hi"}]}],"generationConfig":{"thinkingConfig":{"thinkingLevel":"MINIMAL"}}}`},
	{"PAR-013/level", "", "", `MODEL:gemini-3-flash-preview {"contents":[{"parts":[{"text":"hi"}]}],"generation_config":{"thinking_config":{"thinking_level":"minimal"}}}`},
	{"PAR-013/budget", "G-25", "generationConfig.thinkingConfig.thinkingBudget", `MODEL:gemini-2.5-pro {"contents":[{"parts":[{"text":"hi"}]}],"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}}`},
	{"PAR-013/logprobs", "G-34", "generationConfig.responseLogprobs", `MODEL:gemini-3.5-flash {"contents":[{"parts":[{"text":"hi"}]}],"generationConfig":{"responseLogprobs":true,"logprobs":3}}`},
	{"PAR-013/logprobs", "", "", `MODEL:gemini-2.0-flash {"contents":[{"parts":[{"text":"hi"}]}],"generationConfig":{"response_logprobs":true}}`},
	{"PAR-013/budget", "", "", `MODEL:gemini-2.5-flash {"contents":[{"parts":[{"text":"hi"}]}],"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}}`},
}

// parameterExchange makes the exchange of one row.
func parameterExchange(request string) (x evidence.Exchange, bad bool) {
	request = strings.ReplaceAll(request, "MSG", `"messages":[{"role":"user","content":"hi"}]`)
	request = strings.ReplaceAll(request, "MARK", `{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}`)
	option, body, _ := strings.Cut(request, "{")
	body, bad = "{"+body, strings.HasSuffix(option, "BAD")
	option = strings.TrimSpace(strings.TrimSuffix(option, "BAD"))
	provider := evidence.OpenAI
	if strings.Contains(body, `"claude-`) {
		provider = evidence.Anthropic
	}
	model, isGemini := strings.CutPrefix(option, "MODEL:")
	if isGemini {
		provider = evidence.Gemini
	}
	x = asked(0, provider, body, 0, "")
	x.Request.URL = strings.Replace(x.Request.URL, "gemini-3-flash-preview", model, 1)
	x.Request.Header = http.Header{"Content-Type": {"application/json"}}
	if headers, ok := strings.CutPrefix(option, "HEADERS:"); ok {
		for _, h := range strings.Split(headers, ",") {
			name, value, _ := strings.Cut(h, "=")
			x.Request.Header.Set(name, value)
		}
	}
	return x, bad
}

// TestParameters: each check sees its breach, names the rule and the place, and leaves
// the nearest legal request alone.
func TestParameters(t *testing.T) {
	testRequests(t, "PAR-", parameters)
}

// testRequests holds the checks of an area against requests that break one rule each,
// and their legal neighbours; each check needs both.
func testRequests(t *testing.T, area string, requests []singleRequest) {
	t.Helper()
	broken, legal := map[string]bool{}, map[string]bool{}
	for _, p := range requests {
		x, bad := parameterExchange(p.request)
		res := find(t, p.check).Run(recording(x))
		if p.rule == "" && !bad {
			legal[p.check] = true
			if len(res.Findings) > 0 {
				t.Errorf("%s minds a legal request: %s\n%+v", p.check, x.Request.Body, res.Findings)
			}
			continue
		}
		broken[p.check] = true
		if len(res.Findings) != 1 || res.Findings[0].Rule != p.rule || res.Findings[0].Path != p.path || res.Observed == 0 {
			t.Errorf("%s: %s\n%+v", p.check, x.Request.Body, res)
		}
	}
	for _, c := range check.All() {
		if elsewhere := c.ID == "PAR-012/stored" || isJudgedByWire(c.ID) && !broken[c.ID]; strings.HasPrefix(c.ID, area) && !elsewhere && (!broken[c.ID] || !legal[c.ID]) {
			t.Errorf("%s: no breach or no legal neighbour in the table", c.ID)
		}
	}
}

// TestParametersOfOtherHosts: policies of a provider do not bind a host that only speaks
// its format; its format does.
func TestParametersOfOtherHosts(t *testing.T) {
	format := map[string]bool{"PAR-006/required": true, "PAR-007/type": true, "PAR-012/stored": true}
	for _, p := range parameters {
		x, _ := parameterExchange(p.request)
		x.Request.URL = strings.NewReplacer("api.anthropic.com", "gateway.example", "api.openai.com", "gateway.example", "generativelanguage.googleapis.com", "gateway.example").Replace(x.Request.URL)
		if res := find(t, p.check).Run(recording(x)); len(res.Findings) > 0 && !format[p.check] {
			t.Errorf("%s: %+v", p.check, res.Findings)
		}
	}
}

// TestPreviousStored: what was made with store false cannot be gone on with.
func TestPreviousStored(t *testing.T) {
	for store, found := range map[string]bool{"false": true, "true": false} {
		first := asked(0, "openai", `{"model":"gpt-5.2","store":`+store+`,"input":"hi"}`, 200, `{"id":"resp_1","status":"completed","output":[]}`)
		next := asked(1, "openai", `{"model":"gpt-5.2","previous_response_id":"resp_1","input":"more"}`, 200, `{"id":"resp_2","status":"completed","output":[]}`)
		res := find(t, "PAR-012/stored").Run(recording(first, next))
		if (len(res.Findings) > 0) != found || res.Observed != 1 {
			t.Errorf("store %s: %+v", store, res)
		}
	}
}

// TestPreviousOnWebSockets: a WebSocket knows its last response, stored or not.
func TestPreviousOnWebSockets(t *testing.T) {
	turn := func(i, socket int, previous, id string, status int) evidence.Exchange {
		x := asked(i, "openai", `{"type":"response.create","model":"gpt-5.2","store":false,"generate":true,"input":"hi"`+previous+`}`, status, `{"id":"`+id+`","status":"completed","output":[]}`)
		x.WebSocket = socket
		return x
	}
	after := func(id string) string { return `,"previous_response_id":"` + id + `"` }
	for name, tt := range map[string]struct {
		list []evidence.Exchange
		want string
	}{
		"the last one":               {[]evidence.Exchange{turn(0, 1, "", "resp_1", 200), turn(1, 1, after("resp_1"), "resp_2", 200)}, ""},
		"the last of another stream": {[]evidence.Exchange{turn(0, 1, `,"stream_id":"a"`, "resp_1", 200), turn(1, 1, `,"stream_id":"b"`, "resp_2", 200), turn(2, 1, `,"stream_id":"c"`+after("resp_1"), "resp_3", 200)}, ""},
		"by turns":                   {[]evidence.Exchange{turn(0, 1, "", "resp_1", 200), turn(1, 2, "", "resp_2", 200), turn(2, 1, after("resp_1"), "resp_3", 200)}, ""},
		"on another":                 {[]evidence.Exchange{turn(0, 1, "", "resp_1", 200), turn(1, 2, after("resp_1"), "resp_2", 200)}, "this is another"},
		"by HTTP":                    {[]evidence.Exchange{turn(0, 1, "", "resp_1", 200), turn(1, 0, after("resp_1"), "resp_2", 200)}, "nothing can go on"},
		"an older one":               {[]evidence.Exchange{turn(0, 1, "", "resp_1", 200), turn(1, 1, "", "resp_2", 200), turn(2, 1, after("resp_1"), "resp_3", 200)}, "last response only"},
		"after it failed once":       {[]evidence.Exchange{turn(0, 1, "", "resp_1", 200), turn(1, 1, after("resp_1"), "", 400), turn(2, 1, after("resp_1"), "resp_3", 200)}, "last response only"},
	} {
		id := "WSK-001/own-response"
		if name == "by HTTP" {
			id = "PAR-012/stored"
		}
		res := find(t, id).Run(recording(tt.list...))
		if (len(res.Findings) > 0) != (tt.want != "") || tt.want != "" && !strings.Contains(res.Findings[0].Message, tt.want) {
			t.Errorf("%s: %+v", name, res.Findings)
		}
		if res := find(t, "PAR-006/known").Run(recording(tt.list...)); name != "by HTTP" && len(res.Findings) > 0 {
			t.Errorf("%s: %+v", name, res.Findings)
		}
	}
}

// TestIssuedPartsAreTakenBack is TestIssuedTypesAreTakenBack for Gemini, whose parts have
// no type: the name of their member is it.
func TestIssuedPartsAreTakenBack(t *testing.T) {
	reply := `{"candidates":[{"content":{"role":"model","parts":[{"futurePart":{"note":"new"}},{"text":"hi"}]},"finishReason":"STOP","index":0}]}`
	first := asked(0, evidence.Gemini, `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`, 200, reply)
	second := asked(1, evidence.Gemini, `{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"futurePart":{"note":"new"}},{"text":"hi"}]},{"role":"user","parts":[{"text":"go on"}]}]}`, 200, reply)
	for _, id := range []string{"PAR-006/known", "HYG-001/schema"} {
		first.Response.Body = []byte(reply)
		if res := find(t, id).Run(recording(first, second)); len(res.Findings) > 0 {
			t.Errorf("%s: what the provider issued is a breach: %+v", id, res.Findings)
		}
		first.Response.Body = []byte(strings.Replace(reply, "futurePart", "otherPart", 1))
		if res := find(t, id).Run(recording(first, second)); len(res.Findings) == 0 {
			t.Errorf("%s: no finding of an invented part", id)
		}
	}
}

// TestIssuedTypesAreTakenBack: a block of an unknown type is a breach, unless the
// provider itself issued one before.
func TestIssuedTypesAreTakenBack(t *testing.T) {
	reply := `{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-6","content":[{"type":"future_block","x":1}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`
	first := asked(0, evidence.Anthropic, `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`, 200, reply)
	second := asked(1, evidence.Anthropic, `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"future_block","x":1}]},{"role":"user","content":"go on"}]}`, 200, reply)
	known := find(t, "PAR-006/known")
	if res := known.Run(recording(first, second)); len(res.Findings) > 0 {
		t.Errorf("what the provider issued is a breach: %+v", res.Findings)
	}
	first.Response.Body = []byte(strings.Replace(reply, "future_block", "text", 1))
	if res := known.Run(recording(first, second)); len(res.Findings) != 1 {
		t.Errorf("%d findings of an invented type", len(res.Findings))
	}
}

// TestRecursiveToolIsNotCounted holds that a schema which refers to itself is not reported in
// the words for too many tools, which are another limit of the same rule.
func TestRecursiveToolIsNotCounted(t *testing.T) {
	body := `{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"a","strict":true,
"input_schema":{"type":"object","additionalProperties":false,"properties":{"x":{"$ref":"#/$defs/n"}},"required":["x"],
"$defs":{"n":{"type":"object","additionalProperties":false,"properties":{"next":{"$ref":"#/$defs/n"}},"required":["next"]}}}}]}`
	got := find(t, "PAR-008/strict").Run(recording(asked(0, "anthropic", body, 200, `{"type":"message","content":[]}`))).Findings
	if len(got) != 1 || !strings.HasSuffix(got[0].Message, "refers to itself") {
		t.Errorf("%+v", got)
	}
}
