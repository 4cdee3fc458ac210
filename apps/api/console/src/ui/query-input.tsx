/** A field whose value is in the address. What is typed stays when the page is drawn anew meanwhile, and goes there at its end. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import { setQuery } from '../location.ts';

interface Props {
  /** The member of the query. */
  readonly member: string;
  readonly value: string;
  readonly placeholder?: string;
  readonly required?: boolean;
  /** Whether the key `/` leads to it. */
  readonly isFilter?: boolean;
}

export function QueryInput({
  member,
  value,
  placeholder = '',
  required = false,
  isFilter,
}: Props): JSX.Element {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  return (
    <input
      data-filter={isFilter}
      autocomplete="off"
      placeholder={placeholder}
      required={required}
      value={text}
      onInput={(event) => setText(event.currentTarget.value)}
      onChange={(event) => setQuery({ [member]: event.currentTarget.value.trim() })}
    />
  );
}
