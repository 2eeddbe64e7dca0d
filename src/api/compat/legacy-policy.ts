import type { Body } from './dialect.ts'

/**
 * The module `policy` that the original had before `traffic_policy`: rules as JSON below `inbound` and `outbound` instead
 * of a text. Both names are one module here, and the language reads both forms.
 */

const LEGACY_PATH = /^(\/edges\/(?:https\/\w+\/routes|tcp|tls)\/\w+)\/policy$/

/** The path of the module that stands for the legacy one; undefined for any other path. */
export function modulePathOf(path: string): string | undefined {
  const [, owner] = LEGACY_PATH.exec(path) ?? []
  return owner === undefined ? undefined : `${owner}/traffic_policy`
}

/** The legacy module as a `traffic_policy`. */
export function fromLegacyPolicy({ enabled, inbound, outbound }: Body): Body {
  return {
    ...(enabled === undefined ? {} : { enabled }),
    value: JSON.stringify({ inbound: inbound ?? [], outbound: outbound ?? [] }),
  }
}

/** A `traffic_policy` as the legacy module; null when it is not written in the legacy form. */
export function toLegacyPolicy(module: Body | null | undefined): Body | null {
  const phases = typeof module?.value === 'string' ? parseObject(module.value) : undefined
  if (phases === undefined || !Object.keys(phases).every((key) => key === 'inbound' || key === 'outbound'))
    return null
  return { enabled: module!.enabled, inbound: phases.inbound ?? null, outbound: phases.outbound ?? null }
}

function parseObject(text: string): Body | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Body) : undefined
  } catch {
    return undefined
  }
}
