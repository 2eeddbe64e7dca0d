export { isPlatformName } from './platform-names.ts'
export { isPublicSuffix } from './public-suffix.ts'
