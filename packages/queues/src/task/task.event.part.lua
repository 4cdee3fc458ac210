-- The oldest of the events that a task has not taken, of this name: see task.steps.part.lua. Returns where it begins, where the next
-- one does, the id of its delivery, and its payload; nil without one.
local function findEvent(untaken, event)
  local at = 1
  while at <= #untaken do
    local name, delivery, payload, after = struct.unpack('>Hc0Hc0Ic0', untaken, at)
    if name == event then
      return at, after, delivery, payload
    end
    at = after
  end
end
