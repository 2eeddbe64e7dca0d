import type { ApiRoute } from '../api/index.ts'
import { type ApiFlag, flagsOf } from './flags.ts'

/** One command: its words, its ids in order, and its flags. */
export interface ApiCommand {
  readonly words: readonly string[]
  readonly ids: readonly string[]
  readonly flags: readonly ApiFlag[]
  readonly route: ApiRoute
}

/** `edges_https` becomes `edges-https`. */
function kebab(name: string): string {
  return name.replaceAll('_', '-')
}

/** The commands of all routes, in the order of the API. */
export function commandsOf(routes: readonly ApiRoute[]): ApiCommand[] {
  return routes.map((route) => ({
    words: [route.tag, ...route.id.slice(route.tag.length + 1).split('.')].map(kebab),
    ids: [...route.path.matchAll(/\{([a-z_]+)\}/g)].map((match) => match[1]!),
    flags: flagsOf(route),
    route,
  }))
}
