/** For statements that both engines share (engines/postgres-text.ts). */

/** PostgreSQL's JSON functions refuse \u0000. What they extract never depends on it. */
const json = (text: string) => String.raw`replace(${text}, '\u0000', '\ufffd')::json`;

export const functions = [
  // The value at a path such as $.source.sha256: a string unchanged, anything else as JSON.
  `create function json_extract(document text, path text) returns text
    language sql immutable strict parallel safe
    return ${json("document")} #>> string_to_array(substr(path, 3), '.')`,
  // Without a field of the outermost object, such as $.files.
  `create function json_remove(document text, path text) returns text
    language sql immutable strict parallel safe
    return (${json("document")}::jsonb - substr(path, 3))::text`,
  // The strings of a list. Not strict, so that it becomes part of the statement.
  `create function json_values(document text) returns table (value text)
    language sql immutable parallel safe rows 3
    begin atomic select element from json_array_elements_text(document::json) as element; end`,
  `create function instr(text, text) returns integer
    language sql immutable strict parallel safe
    return strpos($1, $2)`,
  // The size of a text in UTF-8, which is stored as encodeText (engines/postgres-text.ts) returns
  // it.
  `create function text_bytes(text) returns integer
    language sql immutable strict parallel safe
    return bit_length(replace($1, chr(26), '')) / 8`,
];
