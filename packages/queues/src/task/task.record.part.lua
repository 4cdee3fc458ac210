-- The places of fields in a record: u8 priority + flags, u16 attempts, f64 enqueued at; then with a group u16 length · group;
-- with dedupMs f64; then u16 length · name, u16 length · extras, payload.

-- The group; nil without one.
local function groupOf(record)
  local GROUPED = 16
  if math.floor(string.byte(record) / GROUPED) % 2 == 1 then
    return (struct.unpack('>Hc0', record, 12))
  end
end

-- The name, and the offsets of the payload and of the extras.
local function nameOf(record)
  local DEDUPLICATED = 128
  local group = groupOf(record)
  local at = group and 14 + #group or 12
  if string.byte(record) >= DEDUPLICATED then
    at = at + 8
  end
  local name, extrasAt = struct.unpack('>Hc0', record, at)
  return name, extrasAt + 2 + struct.unpack('>H', record, extrasAt), extrasAt + 2
end
