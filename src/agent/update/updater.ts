import { IS_EXECUTABLE } from '../../base/process/program-files.ts'
import { errorMessage } from '../../base/text/error-message.ts'
import type { AgentLog } from '../log/log.ts'
import { type Channel, openChannel } from './channel.ts'
import { installExecutable } from './executable.ts'
import { installVersion } from './install.ts'
import { type Manifest, readManifest, readUpdateKey } from './manifest.ts'
import { isNewer, isSameMajor } from './release.ts'

/** Where updates come from and whether to check for them. */
export interface UpdateSettings {
  check: boolean
  channel: string
  /** Directory or URL; undefined without a channel. */
  url: string | undefined
  /** The public key that verifies manifests. */
  key: string | undefined
}

/** An update was rejected; the message says why. */
export class UpdateRejected extends Error {
  override name = 'UpdateRejected'
}

/** Checks for new versions and installs them; only signed ones of the same major version. */
export class Updater {
  readonly #settings: UpdateSettings
  readonly #version: string
  readonly #root: string
  readonly #log: AgentLog
  #busy = false
  #installed: string | undefined
  #available: string | undefined

  constructor(options: { settings: UpdateSettings; version: string; root: string; log: AgentLog }) {
    this.#settings = options.settings
    this.#version = options.version
    this.#root = options.root
    this.#log = options.log
  }

  /** The newer version found by the last check, if it is not installed yet. */
  get available(): string | undefined {
    return this.#available
  }

  /** The version that runs after a restart. */
  get installed(): string | undefined {
    return this.#installed
  }

  /** True when periodic checks are enabled. */
  get watching(): boolean {
    return this.#settings.check && this.#settings.url !== undefined
  }

  /** Checks for a newer version; undefined when there is none. */
  async check(): Promise<string | undefined> {
    this.#available = (await this.#findNewer())?.manifest.version
    return this.#available
  }

  /**
   * Starts an update. Resolves with the version once a signed manifest announces it; `done` resolves when it is
   * installed. Rejects with the reason when there is no update.
   */
  async begin(): Promise<{ version: string; done: Promise<void> }> {
    if (!this.#settings.check) {
      throw new UpdateRejected('update checks are disabled in the agent configuration (update_check: false)')
    }
    if (this.#busy) throw new UpdateRejected('the agent is already updating')
    if (this.#installed !== undefined) {
      throw new UpdateRejected(
        `the agent has been updated to version ${this.#installed} but not restarted yet`,
      )
    }
    this.#busy = true
    try {
      const candidate = await this.#findNewer()
      if (!candidate)
        throw new UpdateRejected(
          `no update is available; version ${this.#version} is the newest on the channel`,
        )
      const { manifest, channel } = candidate
      const done = this.#install(channel, manifest)
      // The caller may not wait for `done`; the log has the reason.
      done.catch(() => {})
      return { version: manifest.version, done }
    } catch (error) {
      this.#busy = false
      throw error instanceof UpdateRejected ? error : new UpdateRejected(errorMessage(error))
    }
  }

  async #install(channel: Channel, manifest: Manifest): Promise<void> {
    try {
      await (IS_EXECUTABLE ? installExecutable : installVersion)(this.#root, channel, manifest)
      this.#installed = manifest.version
      this.#available = undefined
      this.#log.info('update installed', { obj: 'updater', version: manifest.version })
    } catch (error) {
      this.#log.error('update failed', { obj: 'updater', err: errorMessage(error) })
      throw new UpdateRejected(errorMessage(error))
    } finally {
      this.#busy = false
    }
  }

  async #findNewer(): Promise<{ manifest: Manifest; channel: Channel } | undefined> {
    const { url, key } = this.#settings
    if (url === undefined)
      throw new UpdateRejected(
        'no update is available: no update channel is configured; set one with --update-url or the key update_url',
      )
    if (key === undefined)
      throw new UpdateRejected(
        'no update is available: no key to verify it is configured; set one with --update-key or the key update_key',
      )
    const channel = openChannel(url, this.#settings.channel)
    const [bytes, signature] = await Promise.all([
      channel.read('manifest.json'),
      channel.read('manifest.json.sig'),
    ])
    const manifest = readManifest(bytes, signature.toString('utf8'), readUpdateKey(key))
    return isNewer(manifest.version, this.#version) && isSameMajor(manifest.version, this.#version)
      ? { manifest, channel }
      : undefined
  }
}
