import type { Route } from '../api/index.ts'
import { type ApiFlag, flagsOf } from './flags.ts'

/** One command: the words that name it, the ids it takes in order, and its flags. */
export interface ApiCommand {
  readonly words: readonly string[]
  readonly ids: readonly string[]
  readonly flags: readonly ApiFlag[]
  readonly route: Route
}

/** `edges-https` of `edges_https`. */
export function kebab(name: string): string {
  return name.replaceAll('_', '-')
}

/** The commands of all routes, in the order in which the API lists them. */
export function commandsOf(routes: readonly Route[]): ApiCommand[] {
  return routes.map((route) => ({
    words: [route.tag, ...route.id.slice(route.tag.length + 1).split('.')].map(kebab),
    ids: [...route.path.matchAll(/\{([a-z_]+)\}/g)].map((match) => match[1]!),
    flags: flagsOf(route),
    route,
  }))
}
