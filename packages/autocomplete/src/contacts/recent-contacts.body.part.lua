-- The contacts of a user are a list: the entries that were touched last, each an element, and the body, which is one text with all
-- others. A script receives a text ten times as fast as its hundred entries, and finds a prefix in it with one call. A touch adds an
-- entry at the head of the list, without a look at older copies. So the contacts are the first different entries, up to the
-- capacity. After some touches the elements are folded into the body, which is then the only one, without copies. The body, if
-- there is one, is the last element:
--
--   \255 <number of its entries> <tail> \255 <entry> \255 <entry> ... \255
--
-- Entries are UTF-8, which has no byte 255. The tail is the position of the byte 255 before the last LOG entries. A list of an earlier
-- release has no body, and gets one when it is touched.
-- Expects: find, sub.

-- Maximum of elements before the body. They fit into the memory to which the allocator rounds a list of 100 names up.
local LOG = 15
local BETWEEN, COUNT, TAIL, FIRST = '\255', 2, 6, 13

-- Removes the body from the elements of a list. Returns it, or nil.
local function takeBody(elements)
  local last = elements[#elements]
  if last and sub(last, 1, 1) == BETWEEN then
    elements[#elements] = nil
    return last
  end
end
