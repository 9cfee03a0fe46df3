// npm's install script: builds what is stale, once. VF_SKIP_BUILD=1 skips it; VF_CUDA=1 compiles CUDA in, VF_CUDA=0 not.
import { build, cudaFromEnvironment, linkBinary } from './build.js';

if (process.env.VF_SKIP_BUILD === '1') {
  linkBinary();
} else {
  try {
    build({ cuda: cudaFromEnvironment() });
  } catch (error) {
    console.error(`error: ${error.message}`);
    process.exitCode = 1;
  }
}
