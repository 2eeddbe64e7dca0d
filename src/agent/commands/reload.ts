import { isatty } from 'node:tty'
import type { Agent } from '../agent.ts'
import type { AgentKeys } from '../config/keys.ts'
import type { AgentTunnelSpec } from '../spec/spec.ts'
import { ConfiguredTunnels, describeReload, type ReloadResult } from '../tunnels/reload.ts'
import type { Configuration } from './context.ts'

/** What a command can read again while its agent runs. */
export interface ReloadSource {
  /** Reads the configuration again; throws `ConfigError` or `CommandFailure` and changes nothing if it has mistakes. */
  read(): { configuration: Configuration; specs: readonly AgentTunnelSpec[] }
}

/** Reloads the configuration of a running agent, one time after the other. */
export function createReload(
  agent: Agent,
  source: ReloadSource,
  start: { configuration: Configuration; specs: readonly AgentTunnelSpec[]; started: Promise<void> },
  withSchemes: (specs: readonly AgentTunnelSpec[]) => AgentTunnelSpec[],
): () => Promise<ReloadResult> {
  const tunnels = new ConfiguredTunnels(agent.tunnels, start.specs)
  let last: Promise<unknown> = start.started
  const reload = async (): Promise<ReloadResult> => {
    const { configuration, specs } = source.read()
    const result = {
      ...(await tunnels.apply(withSchemes(specs))),
      restart: changedKeys(start.configuration.config.agent, configuration.config.agent),
    }
    agent.log.info('configuration reloaded', { obj: 'app', ...result })
    agent.notice(describeReload(result).join('\n'))
    return result
  }
  return () => {
    const next = last.then(reload)
    last = next.catch(() => {})
    return next
  }
}

function changedKeys(before: AgentKeys, after: AgentKeys): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]) as Set<keyof AgentKeys>
  return [...names].filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name])).sort()
}

/**
 * Tells a SIGHUP that asks for a reload from the one with which a closed terminal ends its programs: after a hangup the
 * descriptors are of no terminal any more.
 */
export function watchTerminal(): () => boolean {
  const terminals = [0, 1, 2].filter(isatty)
  return () => terminals.some((descriptor) => !isatty(descriptor))
}
