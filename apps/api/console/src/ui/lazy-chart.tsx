/** The code of charts comes with the first chart. */
import type { ComponentProps, ComponentType, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import type Chart from './chart.tsx';
import { Skeleton } from './elements.tsx';

type Props = ComponentProps<typeof Chart>;

export function LazyChart(props: Props): JSX.Element {
  const [loaded, setLoaded] = useState<{ readonly View: ComponentType<Props> }>();
  useEffect(() => {
    void import('./chart.tsx').then(({ default: View }) => setLoaded({ View }));
  }, []);
  return loaded ? <loaded.View {...props} /> : <Skeleton />;
}
