/** Light, dark, or as the system has it. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

const SCHEMES = ['system', 'light', 'dark'] as const;
type Scheme = (typeof SCHEMES)[number];
const STORED = 'mortise-scheme';

function stored(): Scheme {
  const text = localStorage.getItem(STORED);
  return SCHEMES.find((scheme) => scheme === text) ?? 'system';
}

export function SchemeButton(): JSX.Element {
  const [scheme, setScheme] = useState(stored);
  useEffect(() => {
    localStorage.setItem(STORED, scheme);
    document.documentElement.dataset['scheme'] = scheme;
  }, [scheme]);
  const next = SCHEMES[(SCHEMES.indexOf(scheme) + 1) % SCHEMES.length]!;
  return (
    <button
      class="plain wide-only"
      type="button"
      title={`Colours: ${scheme}`}
      onClick={() => setScheme(next)}
    >
      {{ system: '◐', light: '☀', dark: '☾' }[scheme]}
      <span class="hidden-text">
        Colours: {scheme}. Change to {next}
      </span>
    </button>
  );
}
