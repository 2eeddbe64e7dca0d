import { StrokeIcon } from '../../kit/index.ts'
import { BACKEND_KIND_TEXTS, type BackendKind } from '../backends/kinds.ts'
import { MODULES, type ModuleName } from './modules.ts'

/** SVG paths on a 16 by 16 grid. */
const STROKES = {
  visitor: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM2.5 14c.6-3 2.8-4.5 5.500-4.500S12.900 11 13.500 14',
  entrance: 'M2.500 14V8a5.500 5.500 0 0 1 11 0v6M5.500 14V8.500a2.500 2.500 0 0 1 5 0V14',
  route: 'M3 13V9a3 3 0 0 1 3-3h7M10 3l3 3-3 3',
  tunnel: 'M3 13.500V8a5 5 0 0 1 10 0v5.500M8 10.500v3',
  add: 'M8 3v10M3 8h10',
}

type Name = keyof typeof STROKES | ModuleName | BackendKind

const PATHS: Readonly<Record<string, { readonly icon: string }>> = { ...MODULES, ...BACKEND_KIND_TEXTS }

/** The icon of a module, a kind of backend or an element of the diagram. */
export function Icon({ name }: { name: Name }) {
  return <StrokeIcon path={PATHS[name]?.icon ?? STROKES[name as keyof typeof STROKES]} />
}
