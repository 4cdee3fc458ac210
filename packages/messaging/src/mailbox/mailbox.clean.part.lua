-- Removes expired messages, and frees what no device waits for any more. Expects and results: as mailbox.sweep.part.lua.
-- include mailbox.sweep.part.lua
if hasTombstones then
-- include mailbox.free.part.lua
end
