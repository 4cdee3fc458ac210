-- Offset of the name in a record.
local function nameOffset(record)
  local flags, at = string.byte(record), 12
  if math.floor(flags / 16) % 2 == 1 then
    at = at + 2 + struct.unpack('>H', record, at)
  end
  return flags >= 128 and at + 8 or at
end

-- Name and payload. Other fields, such as trace context, may differ between calls that enqueue the same task.
local function contentOf(record)
  local name, at = struct.unpack('>Hc0', record, nameOffset(record))
  local length = struct.unpack('>H', record, at)
  return name .. '\0' .. string.sub(record, at + 2 + length)
end
