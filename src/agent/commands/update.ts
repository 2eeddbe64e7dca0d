import { reason } from '../config/file.ts'
import type { AgentKeys } from '../config/keys.ts'
import { resolveUpdates } from '../settings.ts'
import { UpdateRefused, Updater } from '../update/updater.ts'
import { BASE_ROOT, VERSION } from '../version.ts'
import type { Context } from './context.ts'
import { Failure } from './failure.ts'

/** `adit update`: installs the newest version of the channel. */
export async function update({ keys, log }: Context, write: (text: string) => void): Promise<void> {
  // Asked for by hand, it is not a check that somebody may have switched off.
  const updater = new Updater({
    settings: { ...resolveUpdates(keys), check: true },
    version: VERSION,
    root: BASE_ROOT,
    log,
  })
  try {
    const { version, done } = await updater.begin()
    write(`Updating from version ${VERSION} to ${version}\n`)
    await done
    write(
      `Version ${version} is installed; agents that run go on with ${VERSION} until they are restarted.\n`,
    )
  } catch (error) {
    throw error instanceof UpdateRefused ? new Failure(explained(error.message, keys)) : error
  }
}

/** Says in words what the system or `fetch` says of a channel that cannot be read. */
function explained(
  message: string,
  { update_url: url = '', update_channel: channel = 'stable' }: AgentKeys,
): string {
  const code = /^(E[A-Z]+): /.exec(message)?.[1]
  const why =
    code !== undefined
      ? reason({ code, message })
      : message === 'fetch failed'
        ? 'the server cannot be reached'
        : /aborted due to timeout/.test(message)
          ? 'the server did not answer in time'
          : undefined
  if (why === undefined) return message
  return `cannot read the channel "${channel}" at ${url}: ${why}; check update_url and update_channel`
}
