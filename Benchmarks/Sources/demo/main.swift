import Foundation

print("soon")
