/** Actions on the system service that runs `start --all`. */
export type ServiceAction = 'install' | 'start' | 'stop' | 'restart' | 'status' | 'uninstall'

/** A program of the service manager, with its arguments. */
export interface ServiceCommand {
  readonly command: readonly [program: string, ...args: string[]]
  /** What this command achieves may be done already. */
  readonly mayFail?: boolean
}

/** What a service needs to know of the system it is installed on. */
export interface ServiceSystem {
  /** Undefined on Windows. */
  readonly uid: number | undefined
  readonly home: string
  /** Where the service is declared, unless in the directory of the service manager. */
  readonly directory: string | undefined
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** Program and arguments of the service itself. */
export type ServiceProgram = readonly string[]

/** How one service manager is told about the agent: a file that declares the service, and commands. */
export interface ServiceManager {
  readonly name: string
  /** The file that declares the service. */
  readonly file: string
  /** The content of that file. */
  format(program: ServiceProgram): string | Buffer
  /** `install` runs after the file was written, `uninstall` before it is removed and `removed` after. */
  readonly commands: Readonly<Record<Exclude<ServiceAction, 'status'> | 'removed', readonly ServiceCommand[]>>
  /** Its output shows whether the service runs. */
  readonly status: { readonly command: ServiceCommand['command']; readonly running: RegExp }
  /** What to do when the service manager denies access. */
  readonly accessHint: string
}
