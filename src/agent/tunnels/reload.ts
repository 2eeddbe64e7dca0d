import { errorMessage } from '../../base/text/error-message.ts'
import type { AgentTunnelSpec } from '../spec/spec.ts'
import { tunnelNames } from './bind-request.ts'
import type { Tunnels } from './tunnels.ts'

/** What a reload of the configuration changed, by the names of tunnels. */
export interface ReloadResult {
  readonly started: string[]
  readonly replaced: string[]
  readonly stopped: string[]
  readonly unchanged: string[]
  /** What the server rejected, with its reason; a tunnel that was to be replaced is as before. */
  readonly failed: { name: string; err: string }[]
  /** Settings that changed and have their effect only when the agent starts again. */
  readonly restart: string[]
}

/** Keeps the tunnels of an agent equal to those that its configuration defines. Tunnels that it did not start are left alone. */
export class ConfiguredTunnels {
  readonly #tunnels: Tunnels
  readonly #specs: Map<string, AgentTunnelSpec>

  /** `specs` are those that run already. */
  constructor(tunnels: Tunnels, specs: readonly AgentTunnelSpec[]) {
    this.#tunnels = tunnels
    this.#specs = new Map(specs.map((spec) => [spec.name, spec]))
  }

  /** Stops what is no longer defined, replaces what changed and starts what is new; the others stay online. */
  async apply(specs: readonly AgentTunnelSpec[]): Promise<Omit<ReloadResult, 'restart'>> {
    const result = { started: [], replaced: [], stopped: [], unchanged: [], failed: [] } as {
      [K in keyof Omit<ReloadResult, 'restart'>]: ReloadResult[K]
    }
    const defined = new Set(specs.map(({ name }) => name))
    for (const [name, spec] of [...this.#specs]) {
      if (defined.has(name)) continue
      this.#specs.delete(name)
      await this.#stop(spec)
      result.stopped.push(name)
    }
    for (const spec of specs) {
      const { name } = spec
      const previous = this.#running(name)
      if (previous !== undefined && JSON.stringify(previous) === JSON.stringify(spec))
        result.unchanged.push(name)
      else
        await this.#replace(previous, spec).then(
          () => result[previous === undefined ? 'started' : 'replaced'].push(name),
          (error) => result.failed.push({ name, err: errorMessage(error) }),
        )
    }
    return result
  }

  /** The spec of a tunnel that was started from the configuration and that nobody has stopped since. */
  #running(name: string): AgentTunnelSpec | undefined {
    const spec = this.#specs.get(name)
    return spec !== undefined && this.#tunnels.get(name) !== undefined ? spec : undefined
  }

  async #replace(previous: AgentTunnelSpec | undefined, spec: AgentTunnelSpec): Promise<void> {
    const tunnel = this.#tunnels.get(spec.name)
    if (previous !== undefined) await this.#stop(previous)
    try {
      await this.#tunnels.start(spec, undefined, previous && tunnel)
      this.#specs.set(spec.name, spec)
    } catch (error) {
      if (previous === undefined) this.#specs.delete(spec.name)
      else await this.#tunnels.start(previous, undefined, tunnel)
      throw error
    }
  }

  async #stop(spec: AgentTunnelSpec): Promise<void> {
    await Promise.all(tunnelNames(spec).map((name) => this.#tunnels.stop(name)))
  }
}

/** A result in words, for the terminal and the screen. */
export function describeReload(result: ReloadResult): string[] {
  const { started, replaced, stopped, unchanged, failed, restart } = result
  const changes = Object.entries({ started, replaced, stopped, unchanged }).flatMap(([what, names]) =>
    names.length === 0 ? [] : [`${what} ${names.join(', ')}`],
  )
  return [
    `The configuration was reloaded: ${changes.join('; ') || 'it defines no tunnels'}.`,
    ...failed.map(({ name, err }) => `"${name}" could not be started: ${err}`),
    ...(restart.length === 0
      ? []
      : [`These settings take effect after a restart of the agent: ${restart.join(', ')}`]),
  ]
}
