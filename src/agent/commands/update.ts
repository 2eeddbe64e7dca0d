import { CommandFailure } from '../../base/process/command-line.ts'
import { describeFileError } from '../../base/text/file-error.ts'
import { hideUrlSecrets } from '../../base/text/url-secrets.ts'
import { BASE_ROOT, VERSION } from '../../base/version.ts'
import type { AgentKeys } from '../config/keys.ts'
import { resolveUpdates } from '../settings.ts'
import { UpdateRejected, Updater } from '../update/updater.ts'
import type { CommandContext } from './context.ts'

/** `adit update`: installs the newest version of the channel. */
export async function update({ keys, log }: CommandContext, write: (text: string) => void): Promise<void> {
  // An explicit update ignores `update_check: false`.
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
    write(`Version ${version} is installed; running agents stay on ${VERSION} until they are restarted.\n`)
  } catch (error) {
    throw error instanceof UpdateRejected ? new CommandFailure(explainFailure(error.message, keys)) : error
  }
}

/** Explains system and `fetch` errors of an unreadable channel. */
function explainFailure(
  message: string,
  { update_url: url = '', update_channel: channel = 'stable' }: AgentKeys,
): string {
  const code = /^(E[A-Z]+): /.exec(message)?.[1]
  const detail =
    code !== undefined
      ? describeFileError({ code, message })
      : message === 'fetch failed'
        ? 'the server cannot be reached'
        : /aborted due to timeout/.test(message)
          ? 'the server did not answer in time'
          : undefined
  const text =
    detail === undefined
      ? message
      : `cannot read the channel "${channel}" at ${url}: ${detail}; check update_url and update_channel`
  return url === '' ? text : text.replaceAll(url, hideUrlSecrets(url))
}
