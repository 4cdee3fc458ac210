-- Expects: changes, nearChannel, publish, announces. Publishes one numbered message with the keys that a script has changed.
-- A near tier that misses a number drops everything. One key a line: keys contain no line ends.
local function announce(names)
  if announces == '1' and #names > 0 then
    local number = redis.call('INCR', changes)
    redis.call('PEXPIRE', changes, 86400000)
    redis.call(publish, nearChannel, '*:' .. number .. '\n' .. table.concat(names, '\n'))
  end
end
