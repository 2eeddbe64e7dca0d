// The package's types cover its public modules alone; `ssh2.ts` declares what it uses of the others.
declare module 'ssh2/lib/*' {
  const exports: unknown
  export default exports
}
