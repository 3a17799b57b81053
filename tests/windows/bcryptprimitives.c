/* Wine 8 lacks this library of Windows, whose one function gives extensions written in Rust their
   random bytes. Built for the tests' Wine alone, without the C library: that would be built too. */

typedef unsigned long ULONG; /* 32 bits on Windows */
typedef unsigned long long SIZE_T;

/* RtlGenRandom, of advapi32 */
__declspec(dllimport) unsigned char __stdcall SystemFunction036(void *buffer, ULONG size);

int __stdcall DllMainCRTStartup(void *instance, ULONG reason, void *reserved) { return 1; }

__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *data, SIZE_T size) {
  while (size > 0) {
    ULONG part = size > 0x10000000 ? 0x10000000 : (ULONG)size;
    if (!SystemFunction036(data, part)) return 0;
    data += part;
    size -= part;
  }
  return 1;
}
