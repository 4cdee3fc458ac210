-- Name and payload. Other fields, such as trace context, may differ between calls that enqueue the same task. Expects:
-- task.record.part.lua.
local function contentOf(record)
  local name, payloadAt = nameOf(record)
  return name .. '\0' .. string.sub(record, payloadAt)
end
