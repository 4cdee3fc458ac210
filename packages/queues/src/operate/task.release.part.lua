-- Releases the place of a task in its group, under the limits of groups. Expects: task.group.part.lua before it. Afterwards
-- `hasFreed` says whether another task may run.
local hasFreed = false

-- The group in a record; nil without one.
local function groupOf(record)
  local GROUPED = 16
  if math.floor(string.byte(record) / GROUPED) % 2 == 1 then
    return (struct.unpack('>Hc0', record, 12))
  end
end

local function releaseGroup(record)
  local group = groupOf(record)
  if group then
    leaveGroup(group)
    hasFreed = true
  end
end
