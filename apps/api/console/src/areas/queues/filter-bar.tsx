/** The field of the filter, with suggestions after `:` and `.`. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import type { Known } from './filter.ts';
import { suggestions } from './filter.ts';

interface Props {
  readonly text: string;
  readonly known: Known;
  /** Called on Enter, and when a suggestion ends a term. */
  readonly apply: (text: string) => void;
}

const MAX_SHOWN = 10;

export function FilterBar({ text: applied, known, apply }: Props): JSX.Element {
  const [text, setText] = useState(applied);
  const [isOpen, setIsOpen] = useState(false);
  const [at, setAt] = useState(-1);
  useEffect(() => setText(applied), [applied]);
  const options = isOpen ? suggestions(text, known).slice(0, MAX_SHOWN) : [];
  const choose = (option: string): void => {
    setText(option);
    setAt(-1);
    // A key goes on with its value; a value is the end of a term.
    if (/[:.]$/.test(option)) return;
    setIsOpen(false);
    apply(option);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && options.length > 0) {
      event.preventDefault();
      setAt((at + step + options.length) % options.length);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      const option = options[at];
      if (option !== undefined) return choose(option);
      setIsOpen(false);
      apply(text.trim());
    } else if (event.key === 'Tab' && options.length > 0 && isOpen && text !== applied) {
      event.preventDefault();
      choose(options[Math.max(at, 0)]!);
    } else if (event.key === 'Escape') setIsOpen(false);
  };
  return (
    <div class="combo">
      <input
        data-filter
        class="mono"
        role="combobox"
        aria-label="Filter"
        aria-expanded={options.length > 0}
        aria-controls="filter-options"
        aria-activedescendant={at >= 0 ? `filter-${at}` : undefined}
        autocomplete="off"
        spellcheck={false}
        placeholder="state:dead name:mail.sold payload.item:42"
        value={text}
        onFocus={() => setIsOpen(true)}
        onBlur={() => setIsOpen(false)}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setIsOpen(true);
          setAt(-1);
        }}
        onKeyDown={onKeyDown}
      />
      {options.length > 0 && (
        <ul class="choices" id="filter-options" role="listbox" aria-label="Suggestions">
          {options.map((option, index) => (
            <li
              key={option}
              id={`filter-${index}`}
              role="option"
              aria-selected={index === at}
              // Before the field loses its focus.
              onMouseDown={(event) => {
                event.preventDefault();
                choose(option);
              }}
            >
              <code>{option.slice(text.search(/\S*$/))}</code>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
